"""Too little traffic before, during or after the faults to show anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.outcomes import SendOutcome
from krt_scoring.inputs.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts

MIN_BEFORE = 100
"""Acked sends that make a steady 99th percentile."""

MIN_DURING = 10
"""Attempted sends without which nothing was under way while the fault acted."""

MIN_AFTER = 10
"""Acked sends that show that the cluster took writes again."""


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``EmptyRun`` or ``TooFewOperations``."""
    operations = facts.operations
    if not facts.ledger.get("attempted"):
        message = "no record was attempted: an empty run is never a pass"
        yield Reason("coverage", "EmptyRun", "traffic", message)
        return
    if not facts.ledger.get("acked"):
        message = "no record was acked, so nothing could be lost or kept"
        yield Reason("coverage", "TooFewOperations", "run", message)
    injected = any(window.injected_at is not None for window in facts.windows)
    checks = [("before", operations.sends("before", outcome=SendOutcome.ACKED), MIN_BEFORE)]
    if injected:
        checks.append(("during", operations.sends("during"), MIN_DURING))
        if all(w.recovered_at is not None for w in facts.windows if w.injected_at is not None):
            checks.append(
                ("after", operations.sends("after", outcome=SendOutcome.ACKED), MIN_AFTER)
            )
    for part, count, needed in checks:
        if count < needed:
            kind = "attempted" if part == "during" else "acked"
            message = f"{count} records were {kind} {part} the faults; at least {needed} are needed"
            yield Reason("coverage", "TooFewOperations", part, message)
