"""The verdict in one line, for status and the top of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring import durations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_scoring.anomalies.results import AnomalyResult
    from krt_scoring.selftest.results import SelfTestResult
    from krt_scoring.verdict.objectives import Objective
    from krt_scoring.verdict.verdict import Decision

MAX_LENGTH = 400
"""Characters; a printer column and a termination message hold it."""


def line(
    decision: Decision,
    ledger: Mapping[str, int],
    results: Sequence[AnomalyResult],
    tested: SelfTestResult | None = None,
) -> str:
    """Return one line: what decided the verdict, then the counts.

    Args:
        decision: the verdict and what decided it.
        ledger: outcome of the ledger identity → records.
        results: of the anomalies.
        tested: the result of the self-test, where the run was tested.
    """
    counted = (
        f"{ledger.get('acked', 0)} of {ledger.get('attempted', 0)} records acked, "
        f"{ledger.get('lost', 0)} lost, {ledger.get('undelivered', 0)} undelivered"
    )
    parts = [*_decisive(decision, results), counted]
    if tested is not None and tested.detected < tested.total:
        parts.insert(1, f"the self-test detected {tested.detected} of {tested.total} corruptions")
    if decision.verdict in ("Passed", "Degraded"):
        parts += [
            f"{_LABELS[item.name]} {durations.show(item.value)}"
            for item in decision.objectives
            if item.name in _LABELS and item.value is not None
        ]
    text = "; ".join(parts)
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"


_LABELS = {
    "maxWriteUnavailability": "longest write gap",
    "maxReadUnavailability": "longest read gap",
    "maxRecovery": "recovery",
}


def _decisive(decision: Decision, results: Sequence[AnomalyResult]) -> list[str]:
    if decision.verdict == "Failed":
        units = {item.name: item.unit for item in results}
        found = [
            f"{name} {count} {units.get(name, '')}".strip()
            for name, count in decision.standing.items()
        ]
        return ["not permitted by the configuration: " + ", ".join(found)]
    if decision.verdict == "Inconclusive":
        first = decision.reasons[0]
        more = f" (and {len(decision.reasons) - 1} more)" if len(decision.reasons) > 1 else ""
        return [f"{first.code} {first.subject}: {first.message}{more}"]
    if decision.verdict == "Degraded":
        lost = [item for item in results if item.name == "lost-write" and item.permitted]
        losses = [
            f"{item.permitted} records lost, as the configuration permits "
            f"({', '.join(sorted(item.rules))})"
            for item in lost
        ]
        return losses + [_missed(item) for item in decision.objectives if not item.met]
    return []


def _missed(item: Objective) -> str:
    if item.unit != "us":
        return f"{item.name} {item.value}, limit {item.limit}"
    value = durations.show(item.value or 0)
    at_least = "" if item.ended else "at least "
    return f"{item.name} {at_least}{value}, limit {durations.show(item.limit)}"
