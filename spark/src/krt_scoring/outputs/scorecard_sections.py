"""Sections of the scorecard: anomalies, allowances, faults, latency, availability, replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.inputs.fault_windows import PARTS
from krt_scoring.metrics.counting import STARTUP
from krt_scoring.metrics.operations import END_TO_END, READ, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krt_contract.plan import Plan
    from krt_scoring.anomalies.results import AnomalyResult
    from krt_scoring.history.replicas import Partition
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.metrics.breakdown import GapContext
    from krt_scoring.metrics.gaps import Gap
    from krt_scoring.metrics.latency import Latencies
    from krt_scoring.metrics.measures import Measures

MAX_GAPS = 32
"""Gaps listed for a partition and direction, the longest; ``count`` and ``total`` cover all."""

MAX_REPLICA_ROWS = 512
"""Partitions shown in the table of replicas; a topic has at most 64."""


def anomalies(results: Iterable[AnomalyResult], void: Mapping[str, int]) -> dict[str, Any]:
    """Return anomaly → counts, class, rules and examples; ``void`` only where there are any.

    Args:
        results: of the rules.
        void: anomaly → those of its violations that prove nothing, as the verdict took them.
    """
    return {
        item.name: {
            "unit": item.unit,
            "count": item.count,
            "permitted": item.permitted,
            "violations": item.violations,
            "class": "Void" if 0 < item.violations <= void.get(item.name, 0) else item.cls,
            "rules": dict(item.rules),
            "detail": dict(item.detail),
            "examples": list(item.examples),
            **({"void": void[item.name]} if void.get(item.name) else {}),
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
    return [
        {
            "name": window.name,
            "action": window.action,
            "duration": window.duration,
            "verified": verified.get(window.name, False),
            "observations": [dict(observation) for observation in window.observations],
            "skipped": window.skipped,
            "targets": [dict(target) for target in window.targets],
            **window.times,
        }
        for window in windows
    ]


def latency(latencies: Latencies) -> dict[str, Any]:
    """Return kind → part of the run → percentiles in µs, from the scheduled time.

    ``startup`` is the time before the steady state: the first joining of groups is in it, so that
    it says nothing of Kafka without a fault.
    """
    return {
        kind: {part: latencies.over(kind, part).as_dict() for part in (STARTUP, *PARTS)}
        for kind in (WRITE, END_TO_END)
    }


def recovery(measures: Measures) -> dict[str, Any]:
    """Return the recovery from each fault, and the longest, absent where none affected anything."""
    longest = measures.longest_recovery
    return {
        **({} if longest is None else {"max": longest}),
        "faults": [item.as_dict() for item in measures.recoveries],
    }


def availability(run: Plan, measures: Measures, context: GapContext) -> list[dict[str, Any]]:
    """Return a row for each partition, direction and group in which gaps can be measured."""
    counted = {(m.direction, m.group, m.topic, m.partition): m for m in measures.measured}
    rows = []
    for key in _measurable(run):
        direction, group, topic, partition = key
        row: dict[str, Any] = {"topic": topic, "partition": partition, "direction": direction}
        if group:
            row["group"] = group
        found = counted.get(key)
        row["measured"] = found is not None
        if found is not None:
            own = [g for g in measures.gaps if (g.direction, g.group, g.topic, g.partition) == key]
            longest = sorted(own, key=lambda gap: (-gap.duration, gap.start))[:MAX_GAPS]
            lengths = [gap.duration for gap in own]
            row |= {
                "scheduled": found.scheduled,
                "duringFaultOps": found.during_faults,
                "detectionLimit": measures.detection_limits[direction, group],
                "count": len(own),
                **({"total": sum(lengths), "max": max(lengths)} if own else {}),
                "gaps": [_gap(gap, context) for gap in sorted(longest)],
            }
        rows.append(row)
    return rows


def _measurable(run: Plan) -> list[tuple[str, str, str, int]]:
    keys = []
    for topic in run.topics:
        directions = []
        if any(producer.topic == topic.name for producer in run.writers):
            directions.append((WRITE, ""))
        groups = sorted({c.group for c in run.consumers if topic.name in c.topics})
        directions += [(READ, group) for group in groups]
        keys += [
            (direction, group, topic.name, partition)
            for direction, group in directions
            for partition in range(topic.partitions)
        ]
    return sorted(keys, key=lambda key: (key[2], key[3], key[0] != WRITE, key[1]))


def _gap(gap: Gap, context: GapContext) -> dict[str, Any]:
    row: dict[str, Any] = {"from": gap.start, "to": gap.end, "duration": gap.duration}
    if gap.open_end:
        row["openEnd"] = True
    explained = context.explain(gap)
    if explained is not None:
        row["fault"], breakdown = explained
        if breakdown:
            row["breakdown"] = breakdown
    return row


def replicas(partitions: Sequence[Partition]) -> list[dict[str, Any]]:
    """Return a row for each partition whose log ends were recorded.

    Each has ``topic``, ``partition``, ``highWatermark``, ``isr``, ``compared`` (brokers whose
    replicas must be equal) and ``replicas``: ``broker``, ``logStart``, ``logEnd`` and, where a
    replica was not dumped completely, ``problem``.
    """
    return [
        {
            "topic": item.topic,
            "partition": item.partition,
            "highWatermark": item.high_watermark,
            "isr": list(item.isr),
            "compared": [replica.broker for replica in item.compared],
            "replicas": [
                {
                    "broker": replica.broker,
                    "logStart": replica.log_start,
                    "logEnd": replica.log_end,
                    **({"problem": replica.problem} if replica.problem else {}),
                }
                for replica in item.replicas
            ],
        }
        for item in partitions[:MAX_REPLICA_ROWS]
    ]
