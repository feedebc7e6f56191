"""Faults that would be open on one member at once, as far as the plan alone can tell.

What cannot be told (a leader, a replica by the seed) is seen when the fault is due: it goes round
what another fault has, or is skipped. Here only what is certain to collide counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action, Role, StartEvent
from krt_operator.faults.kafka_state import KafkaState
from krt_operator.faults.partitions import target_partitions
from krt_operator.faults.targets import find_candidates, target_count

if TYPE_CHECKING:
    from krt_operator.api.spec import Fault
    from krt_operator.plan.plan import Plan

KNOWN: Final = frozenset({Role.BROKER, Role.ZOOKEEPER, Role.RACK, Role.PRODUCER, Role.CONSUMER})
"""Roles whose members the plan knows."""


@dataclass(frozen=True, slots=True)
class Window:
    """When a fault is open: µs since something whose time is not known before the run."""

    since: str
    begin: float
    end: float

    def meets(self, other: Window) -> bool:
        """Whether both are certain to be open at one time."""
        if self.since != other.since:
            return False
        return self.begin < other.end and other.begin < self.end


def conflicts(plan: Plan) -> list[str]:
    """Pairs of faults that would have one member at once.

    Returns:
        Sentences that name both faults and the member; empty where there is no conflict.
    """
    found = []
    open_at = windows(plan)
    for first, second in combinations(plan.spec.faults, 2):
        if not open_at[first.name].meets(open_at[second.name]):
            continue
        found += [
            f"spec.faults[{second.name}] hits {member} while {first.name} still has it: "
            f"let it start after {first.name} is "
            f"{'Recovered' if math.isinf(open_at[first.name].end) else 'Reverted'}"
            for member in sorted(certain(first, plan) & certain(second, plan))
        ]
    return found


def windows(plan: Plan) -> dict[str, Window]:
    """When each fault is open, by name."""
    found: dict[str, Window] = {}
    for fault in plan.spec.faults:
        after = fault.starts_after
        before = found.get(after.fault or "")
        since, begin = "", 0.0
        if before is not None and after.event is StartEvent.STARTED:
            since, begin = before.since, before.begin
        elif before is not None and after.event is StartEvent.REVERTED and before.end < math.inf:
            since, begin = before.since, before.end
        elif before is not None:
            since = f"{after.fault} {after.event}"
        begin += fault.delay.micros
        lasts = math.inf if fault.action is Action.ROLLING_RESTART else fault.duration.micros
        found[fault.name] = Window(since, begin, begin + lasts)
    return found


def certain(fault: Fault, plan: Plan) -> frozenset[str]:
    """Members that the fault is certain to hit: those it names, or all there are."""
    target = fault.target
    if target.role is Role.PARTITION_REPLICA:
        replicas = _replicas(fault, plan)
        if (target.count or 1) < len(replicas):
            return frozenset()
        return frozenset(one.member for one in plan.brokers if one.ordinal in replicas)
    if target.role not in KNOWN or (target.role is Role.RACK and target.zone is None):
        return frozenset()
    fitting = find_candidates(fault, plan, KafkaState())
    if target_count(fault, fitting) < len(fitting):
        return frozenset()
    return frozenset(one.member for one in fitting)


def _replicas(fault: Fault, plan: Plan) -> tuple[int, ...]:
    """Brokers that hold the partition a fault means; none where another fault moves it."""
    topic = next((one for one in plan.topics if one.name == fault.target.topic), None)
    if topic is None:
        return ()
    place = (topic.name, fault.target.partition or 0)
    if any(
        one.action is Action.REASSIGN and place in target_partitions(one, plan)
        for one in plan.spec.faults
    ):
        # As the topic was created is not as the fault will find it.
        return ()
    return tuple(topic.assignment.get(place[1], ()))
