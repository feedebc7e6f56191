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
    from krt_scoring.verdict.warnings import MeasurementWarning

MAX_LENGTH = 400
"""Characters; a printer column and a termination message hold it."""


def line(  # noqa: PLR0913 (everything that one line says)
    decision: Decision,
    ledger: Mapping[str, int],
    results: Sequence[AnomalyResult],
    tested: SelfTestResult | None = None,
    *,
    warnings: Sequence[MeasurementWarning] = (),
    aborted: int = 0,
) -> str:
    """Return one line: what decided the verdict, then the counts.

    Args:
        decision: the verdict and what decided it.
        ledger: outcome of the ledger identity → records.
        results: of the anomalies.
        tested: the result of the self-test, where the run was tested.
        warnings: what numbers of the run say against each other.
        aborted: records sent in transactions that were aborted.
    """
    in_aborted = f" ({aborted} in aborted transactions)" if aborted else ""
    counted = (
        f"{ledger.get('acked', 0)} of {ledger.get('attempted', 0)} records acked{in_aborted}, "
        f"{ledger.get('lost', 0)} lost, {ledger.get('undelivered', 0)} undelivered"
    )
    parts = [*_decisive(decision, results), counted]
    if tested is not None and tested.detected < tested.total:
        parts.insert(1, f"the self-test detected {tested.detected} of {tested.total} corruptions")
    if decision.verdict in ("Passed", "Degraded"):
        parts += [text for item in decision.objectives if (text := _measured(item))]
    parts += [f"warning: {item.code} {item.subject}" for item in warnings]
    text = "; ".join(parts)
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 1] + "…"


_GAPS = {"maxWriteUnavailability": "write gap", "maxReadUnavailability": "read gap"}


def _measured(item: Objective) -> str:
    """Return what was measured for an objective about time; empty for others, and for nothing."""
    if item.name == "maxRecovery" and (item.value is not None or not item.affected):
        colon = ":" if item.value is None else ""
        return f"recovery{colon} {durations.show_recovery(item.value)}"
    if item.name not in _GAPS or item.worst is None:
        return ""
    if item.value is None:
        return f"no {_GAPS[item.name]} longer than {durations.show(item.worst)} (detection limit)"
    seen = durations.show_longest(item.value, item.detection_limit)
    return f"longest {_GAPS[item.name]} {seen}"


def _decisive(decision: Decision, results: Sequence[AnomalyResult]) -> list[str]:
    if decision.verdict == "Failed":
        units = {item.name: item.unit for item in results}
        found = [
            f"{name} {count} {units.get(name, '')}".strip()
            for name, count in decision.standing.items()
        ]
        return ["not permitted by the configuration: " + ", ".join(found), *_void(decision)]
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


def _void(decision: Decision) -> list[str]:
    """Say what was found beside a violation and rests on missing evidence."""
    if not decision.void:
        return []
    found = ", ".join(f"{name} {count}" for name, count in decision.void.items())
    first = next(item for item in decision.reasons if set(decision.void) & set(item.invalidates))
    return [f"not judged, since evidence is missing ({first.code} {first.subject}): {found}"]


def _missed(item: Objective) -> str:
    if item.unit != "us":
        return f"{item.name} {item.value}, limit {item.limit}"
    value = durations.show(item.value or 0)
    at_least = "" if item.ended else "at least "
    return f"{item.name} {at_least}{value}, limit {durations.show(item.limit)}"
