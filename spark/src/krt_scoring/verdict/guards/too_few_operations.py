"""Too little traffic before, during or after the faults to show anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.outcomes import SendOutcome
from krt_scoring.inputs.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.metrics.counting import OperationCounts

MIN_BEFORE = 100
"""Acked sends without which there is no steady state to compare with."""

MIN_DURING = 10
"""Attempted sends without which nothing was under way while the fault acted."""

MIN_AFTER = 10
"""Acked sends that show that the cluster took writes again."""


REMEDIES = {
    "before": "Raise recordsPerSecond or lengthen spec.warmup",
    "during": "Raise recordsPerSecond, or the duration of the faults",
    "after": "Raise recordsPerSecond, or leave more time after each fault",
}
"""Part of the run → what gives it more operations."""

SLOW = "; if the producers could not keep up, run fewer tests at once or on a faster machine"
"""Added where the rate that was asked for was not reached."""


def check(
    faults: Sequence[FaultWindow], ledger: Mapping[str, int], counts: OperationCounts
) -> Iterator[Reason]:
    """Yield ``EmptyRun`` or ``TooFewOperations``."""
    if not ledger.get("attempted"):
        message = "no record was attempted, and an empty run never passes. See the producers' logs"
        yield Reason("coverage", "EmptyRun", "traffic", message)
        return
    if not ledger.get("acked"):
        message = (
            "no record was acked, so none could be lost. See the errors under rejections, and the "
            "brokers' logs in the evidence"
        )
        yield Reason("coverage", "TooFewOperations", "run", message)
    injected = any(window.injected_at is not None for window in faults)
    checks = [("before", counts.sends("before", outcome=SendOutcome.ACKED), MIN_BEFORE)]
    if injected:
        checks.append(("during", counts.sends("during"), MIN_DURING))
        if all(w.recovered_at is not None for w in faults if w.injected_at is not None):
            checks.append(("after", counts.sends("after", outcome=SendOutcome.ACKED), MIN_AFTER))
    for part, count, needed in checks:
        if count < needed:
            kind = "attempted" if part == "during" else "acked"
            message = (
                f"{count} records were {kind} {part} the faults, but at least {needed} are needed. "
                f"{REMEDIES[part]}{SLOW}"
            )
            yield Reason("coverage", "TooFewOperations", part, message)
