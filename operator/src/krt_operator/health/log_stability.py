"""Whether the log ends are stable: no open transaction, no change, enough replicas in sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.constants import SETTLED_APART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import Bounds

SAME = ("logStart", "highWatermark", "lastStable", "leader", "leaderEpoch")
"""Fields in which two readings must agree."""


def as_json(bound: Bounds) -> Json:
    """A reading as the control ConfigMap carries it."""
    return {
        "topic": bound.topic,
        "partition": bound.partition,
        "takenAt": bound.taken_at,
        "logStart": bound.log_start,
        "highWatermark": bound.high_watermark,
        "lastStable": bound.last_stable,
        "leader": bound.leader,
        "leaderEpoch": bound.leader_epoch,
        "isr": list(bound.isr),
        "settled": False,
    }


def instability(
    plan: Plan, topics: Sequence[str], before: Sequence[Json], now: Sequence[Json]
) -> str:
    """Why the log ends of these topics are not stable yet; empty when they are.

    They are when each partition has a leader and at least min.insync.replicas in its ISR (below
    it the high watermark does not advance), no transaction is open (high watermark = last stable
    offset), and an earlier reading of the same leadership found the same.
    """
    minima = {planned.name: plan.min_insync(planned.name) for planned in plan.topics}
    earlier = {(bound["topic"], bound["partition"]): bound for bound in before}
    for reading in now:
        name = f"{reading['topic']}-{reading['partition']}"
        if reading["leader"] is None or reading["leader"] < 0:
            return f"{name} has no leader"
        if len(reading["isr"]) < minima[reading["topic"]]:
            needed = minima[reading["topic"]]
            return f"{name} has {len(reading['isr'])} replicas in sync, {needed} needed"
        if reading["highWatermark"] != reading["lastStable"]:
            return f"{name} has an open transaction at {reading['lastStable']}"
        first = earlier.get((reading["topic"], reading["partition"]))
        if first is None or any(first[key] != reading[key] for key in SAME):
            return f"{name} changed between two readings"
        if reading["takenAt"] - first["takenAt"] < SETTLED_APART * 1_000_000:
            return f"{name} was read twice within {SETTLED_APART} s, which is too soon"
    expected = sum(topic.partitions for topic in plan.topics if topic.name in topics)
    return "" if len(now) == expected else f"{len(now)} of {expected} partitions answered"


def end_offsets(bounds: Sequence[Json]) -> dict[str, dict[str, int]]:
    """Topic to partition to the offset after the last record that a consumer can read."""
    found: dict[str, dict[str, int]] = {}
    for reading in bounds:
        found.setdefault(reading["topic"], {})[str(reading["partition"])] = reading["lastStable"]
    return found
