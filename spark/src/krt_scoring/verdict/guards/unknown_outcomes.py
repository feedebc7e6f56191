"""Too many sends of unknown outcome while no fault was open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.outcomes import SendOutcome
from krt_scoring.inputs.reasons import Reason
from krt_scoring.metrics.counting import STARTUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.metrics.counting import OperationCounts

MAX_UNKNOWN_PERMILLE = 50
"""Share of sends outside fault windows whose outcome may be unknown (correctness rules: 5 %)."""


def check(counts: OperationCounts) -> Iterator[Reason]:
    """Yield ``TooManyUnknown``."""
    quiet = (STARTUP, "before", "after")
    total = counts.sends(*quiet)
    unknown = counts.sends(*quiet, outcome=SendOutcome.UNKNOWN)
    if unknown * 1000 > total * MAX_UNKNOWN_PERMILLE:
        message = (
            f"{unknown} of {total} sends outside the faults have an unknown outcome, but at most "
            f"{MAX_UNKNOWN_PERMILLE // 10} in 100 may. Give the cluster more resources, or lower "
            "recordsPerSecond"
        )
        yield Reason("coverage", "TooManyUnknown", "run", message)
