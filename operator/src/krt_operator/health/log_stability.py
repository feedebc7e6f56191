"""When the ends of the log count: nothing open, nothing moving, enough replicas in sync. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.constants import SETTLED_APART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Json
    from krt_operator.kafka.views import Bounds
    from krt_operator.plan.plan import Plan

SAME = ("logStart", "highWatermark", "lastStable", "leader", "leaderEpoch")
"""What two readings must agree in."""


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


def settled(plan: Plan, topics: Sequence[str], before: Sequence[Json], now: Sequence[Json]) -> str:
    """Why the readings of these topics do not count yet; empty when they do.

    They do when each partition has a leader and at least min.insync.replicas in its ISR (below
    it the high watermark does not advance), no transaction is open (high watermark = last stable
    offset), and an earlier reading of the same leadership found the same.
    """
    minima = {one.name: plan.min_insync(one.name) for one in plan.topics}
    earlier = {(one["topic"], one["partition"]): one for one in before}
    for one in now:
        name = f"{one['topic']}-{one['partition']}"
        if one["leader"] is None or one["leader"] < 0:
            return f"{name} has no leader"
        if len(one["isr"]) < minima[one["topic"]]:
            return f"{name} has {len(one['isr'])} replicas in sync, {minima[one['topic']]} needed"
        if one["highWatermark"] != one["lastStable"]:
            return f"{name} has an open transaction at {one['lastStable']}"
        first = earlier.get((one["topic"], one["partition"]))
        if first is None or any(first[key] != one[key] for key in SAME):
            return f"{name} was not read twice alike"
        if one["takenAt"] - first["takenAt"] < SETTLED_APART * 1_000_000:
            return f"{name} was read twice within {SETTLED_APART} s"
    expected = sum(one.partitions for one in plan.topics if one.name in topics)
    return "" if len(now) == expected else f"{len(now)} of {expected} partitions answered"


def end_offsets(bounds: Sequence[Json]) -> dict[str, dict[str, int]]:
    """Topic to partition to the offset after the last record a consumer is owed."""
    found: dict[str, dict[str, int]] = {}
    for one in bounds:
        found.setdefault(one["topic"], {})[str(one["partition"])] = one["lastStable"]
    return found
