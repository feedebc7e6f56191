"""Too many sends of unknown outcome where nothing was broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.outcomes import SendOutcome
from krt_scoring.inputs.reasons import Reason
from krt_scoring.metrics.operations import STARTUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts

MAX_UNKNOWN_PERMILLE = 50
"""Share of sends outside fault windows whose outcome may be unknown (correctness rules: 5 %)."""


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``TooManyUnknown``."""
    quiet = (STARTUP, "before", "after")
    total = facts.operations.sends(*quiet)
    unknown = facts.operations.sends(*quiet, outcome=SendOutcome.UNKNOWN)
    if unknown * 1000 > total * MAX_UNKNOWN_PERMILLE:
        message = (
            f"{unknown} of {total} sends outside the faults have an unknown outcome; "
            f"at most {MAX_UNKNOWN_PERMILLE // 10} in 100 may"
        )
        yield Reason("coverage", "TooManyUnknown", "run", message)
