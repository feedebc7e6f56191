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
    """Why the log ends of these topics are not stable yet; empty when all of them are."""
    unstable = unstable_partitions(plan, before, now)
    if unstable:
        return next(iter(unstable.values()))
    expected = sum(topic.partitions for topic in plan.topics if topic.name in topics)
    return "" if len(now) == expected else f"{len(now)} of {expected} partitions answered"


def unstable_partitions(
    plan: Plan, before: Sequence[Json], now: Sequence[Json]
) -> dict[tuple[str, int], str]:
    """Return topic and partition → why its log end is not stable yet, in the readings' order.

    It is when the partition has a leader and at least min.insync.replicas in its ISR (below
    it the high watermark does not advance), no transaction is open (high watermark = last stable
    offset), and an earlier reading of the same leadership found the same.
    """
    earlier = {(bound["topic"], bound["partition"]): bound for bound in before}
    found = {}
    for reading in now:
        partition = reading["topic"], reading["partition"]
        cause = _cause(reading, earlier.get(partition), plan.min_insync(reading["topic"]))
        if cause:
            found[partition] = f"{partition[0]}-{partition[1]} {cause}"
    return found


def _cause(reading: Json, earlier: Json | None, needed: int) -> str:
    if reading["leader"] is None or reading["leader"] < 0:
        return "has no leader"
    if len(reading["isr"]) < needed:
        return f"has {len(reading['isr'])} replicas in sync, {needed} needed"
    if reading["highWatermark"] != reading["lastStable"]:
        return f"has an open transaction at {reading['lastStable']}"
    if earlier is None or any(earlier[key] != reading[key] for key in SAME):
        return "changed between two readings"
    if reading["takenAt"] - earlier["takenAt"] < SETTLED_APART * 1_000_000:
        return f"was read twice within {SETTLED_APART} s, which is too soon"
    return ""


def end_offsets(bounds: Sequence[Json]) -> dict[str, dict[str, int]]:
    """Topic to partition to the offset after the last record that a consumer can read."""
    found: dict[str, dict[str, int]] = {}
    for reading in bounds:
        found.setdefault(reading["topic"], {})[str(reading["partition"])] = reading["lastStable"]
    return found
