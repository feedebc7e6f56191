"""The scorecard: everything the verdict rests on, as a document of integers.

The same evidence gives the same bytes wherever and however it is scored; nothing in it is about
the scoring itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_contract import SCHEMA_VERSION
from krt_scoring.inputs.fault_windows import PARTS
from krt_scoring.metrics.operations import END_TO_END, STARTUP, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krt_contract.plan import Plan
    from krt_scoring.anomalies.findings import AnomalyResult
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.metrics.breakdown import Surroundings
    from krt_scoring.metrics.gaps import Gap, Measured
    from krt_scoring.metrics.operations import Operations

MAX_GAPS = 32
"""Gaps listed for a partition and direction, the longest; ``count`` and ``total`` hold all."""


def dump(card: Mapping[str, Any]) -> str:
    """Return the scorecard's text: sorted keys, one newline at the end.

    Raises:
        TypeError: a number in it, other than a score, is no integer.
    """
    _refuse_floats(card, "")
    return json.dumps(card, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


SCORE_KEY = "score"
"""The one key whose value has a decimal: 0 to 100 points."""


def _refuse_floats(value: Any, where: str) -> None:
    if isinstance(value, float):
        raise TypeError(f"{where} is {value!r}; a scorecard holds integers, but for its scores")
    if isinstance(value, dict):
        for key, item in value.items():
            if key != SCORE_KEY:
                _refuse_floats(item, f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_floats(item, f"{where}[{index}]")


def header(namespace: str, name: str, uid: str, seed: int | None) -> dict[str, Any]:
    """Return the part that says which run this is."""
    run: dict[str, Any] = {"namespace": namespace, "name": name, "uid": uid}
    if seed is not None:
        run["seed"] = seed
    return {"schemaVersion": SCHEMA_VERSION, "run": run}


def anomalies(results: Iterable[AnomalyResult]) -> dict[str, Any]:
    """Return anomaly → counts, class, rules and examples."""
    return {
        item.name: {
            "unit": item.unit,
            "count": item.count,
            "permitted": item.permitted,
            "violations": item.violations,
            "class": item.cls,
            "rules": dict(item.rules),
            "detail": dict(item.detail),
            "examples": list(item.examples),
        }
        for item in results
    }


def allowances(results: Iterable[AnomalyResult]) -> list[dict[str, Any]]:
    """Return each rule of the configuration that permitted something, and how much."""
    rows = [
        {"anomaly": item.name, "rule": rule, "count": count}
        for item in results
        for rule, count in item.rules.items()
    ]
    return sorted(rows, key=lambda row: (str(row["anomaly"]), str(row["rule"])))


def faults(windows: Iterable[FaultWindow], verified: Mapping[str, bool]) -> list[dict[str, Any]]:
    """Return the faults with their times, observations and targets."""
    rows = []
    for window in windows:
        times = {
            "injectedAt": window.injected_at,
            "revertedAt": window.reverted_at,
            "recoveredAt": window.recovered_at,
        }
        rows.append(
            {
                "name": window.name,
                "action": window.action,
                "duration": window.duration,
                "verified": verified.get(window.name, False),
                "observations": [dict(proof) for proof in window.observations],
                "skipped": window.skipped,
                "targets": [dict(target) for target in window.targets],
                **{key: at for key, at in times.items() if at is not None},
            }
        )
    return rows


def latency(operations: Operations) -> dict[str, Any]:
    """Return kind → part of the run → percentiles in µs, from the scheduled time."""
    return {
        kind: {
            part: operations.latency(
                kind, *((STARTUP, "before") if part == "before" else (part,))
            ).as_dict()
            for part in PARTS
        }
        for kind in (WRITE, END_TO_END)
    }


def availability(
    run: Plan,
    gaps: Sequence[Gap],
    measured: Sequence[Measured],
    around: Surroundings,
) -> list[dict[str, Any]]:
    """Return a row for each partition, direction and group that could have been measured."""
    counted = {(m.direction, m.group, m.topic, m.partition): m for m in measured}
    rows = []
    for key in _measurable(run):
        direction, group, topic, partition = key
        row: dict[str, Any] = {"topic": topic, "partition": partition, "direction": direction}
        if group:
            row["group"] = group
        found = counted.get(key)
        row["measured"] = found is not None
        if found is not None:
            own = [g for g in gaps if (g.direction, g.group, g.topic, g.partition) == key]
            longest = sorted(own, key=lambda gap: (-gap.duration, gap.start))[:MAX_GAPS]
            row |= {
                "scheduled": found.due,
                "duringFaultOps": found.progress,
                "count": len(own),
                "total": sum(gap.duration for gap in own),
                "max": max((gap.duration for gap in own), default=0),
                "gaps": [_gap(gap, around) for gap in sorted(longest)],
            }
        rows.append(row)
    return rows


def _measurable(run: Plan) -> list[tuple[str, str, str, int]]:
    keys = []
    for topic in run.topics:
        directions = []
        if any(producer.topic == topic.name for producer in run.writers):
            directions.append(("write", ""))
        groups = sorted({c.group for c in run.consumers if topic.name in c.topics})
        directions += [("read", group) for group in groups]
        keys += [
            (direction, group, topic.name, partition)
            for direction, group in directions
            for partition in range(topic.partitions)
        ]
    return sorted(keys, key=lambda key: (key[2], key[3], key[0] != "write", key[1]))


def _gap(gap: Gap, around: Surroundings) -> dict[str, Any]:
    row: dict[str, Any] = {"from": gap.start, "to": gap.end, "duration": gap.duration}
    if gap.open_end:
        row["openEnd"] = True
    found = around.of(gap)
    if found is not None:
        row["fault"], parts = found
        if parts:
            row["breakdown"] = parts
    return row
