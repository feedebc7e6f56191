"""Whether what was detected in a case is what it expects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_scoring.anomalies.registry import UNITS

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.spark.anomalies.histories import Outcome
    from tests.spark.anomalies.language import Case


def deviations(
    case: Case, outcome: Outcome, anomalies: Collection[str] = tuple(UNITS)
) -> list[str]:
    """Return where what was detected in a case is not what it expects; empty where it is.

    Args:
        case: what it expects.
        outcome: what was detected.
        anomalies: those that were looked for.
    """
    found = []
    expected = {key: count for key, count in case.expected.items() if key[0] in anomalies}
    if outcome.findings != expected:
        found.append(f"found {dict(outcome.findings)}, expected {expected}")
    tagged = {anomaly for anomaly, _ in case.tags}
    tags = {key: count for key, count in outcome.tags.items() if key[0] in tagged}
    if tags != {key: count for key, count in case.tags.items() if key[0] in anomalies}:
        found.append(f"tags {tags}, expected {dict(case.tags)}")
    found += [
        f"no {anomaly} shows {values}"
        for anomaly, values in case.shown
        if anomaly in anomalies and not any(shows(row, anomaly, values) for row in outcome.rows)
    ]
    void = {name: count for name, count in case.void.items() if name in anomalies}
    if case.judges_voids and +outcome.void != void:
        found.append(f"void {dict(+outcome.void)}, expected {void}")
    if case.outcomes is not None and outcome.outcomes != case.outcomes:
        found.append(f"outcomes {outcome.outcomes}, expected {case.outcomes}")
    return found


def shows(row: dict[str, Any], anomaly: str, values: dict[str, str]) -> bool:
    """Whether a finding is of an anomaly and has these values in its columns or its detail."""
    columns = row | json.loads(row["detail"] or "{}")
    equal = all(str(columns.get(key)) == value for key, value in values.items())
    return row["anomaly"] == anomaly and equal
