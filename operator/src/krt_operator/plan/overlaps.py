"""Faults that would be open on one member at the same time, as far as the plan alone shows.

Some targets (a leader, a replica chosen by the seed) are only known when the fault is due: it then
avoids the members of open faults, or is skipped. Only certain collisions are found here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from krt_contract.members import member_of
from krt_operator.api.spec import Role, StartEvent
from krt_operator.faults.kafka_state import KafkaState
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.targets import find_candidates, target_count

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault

KNOWN: Final = frozenset(
    {
        *(Role.BROKER, Role.ZOOKEEPER, Role.CONTROLLER_NODE, Role.RACK),
        *(Role.PRODUCER, Role.CONSUMER),
    }
)
"""Roles whose members are known from the plan."""


@dataclass(frozen=True, slots=True)
class Window:
    """When a fault is open, in µs since an event whose time is not known before the run."""

    since: str
    begin: float
    end: float

    def meets(self, other: Window) -> bool:
        """Whether both are certain to be open at the same time."""
        if self.since != other.since:
            return False
        return self.begin < other.end and other.begin < self.end


def conflicts(plan: Plan) -> list[str]:
    """Pairs of faults that would be open on one member at the same time.

    Returns:
        Sentences that name both faults and the member; empty where there is no conflict.
    """
    found = []
    open_at = windows(plan)
    for first, second in combinations(plan.spec.faults, 2):
        if not open_at[first.name].meets(open_at[second.name]):
            continue
        found += [
            f"spec.faults[{second.name}] targets {member} while {first.name} is open on it; "
            f"start it after {first.name} is "
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
        timed = ACTIONS[fault.action].ends_after_duration
        lasts = fault.duration.micros if timed else math.inf
        found[fault.name] = Window(since, begin, begin + lasts)
    return found


def certain(fault: Fault, plan: Plan) -> frozenset[str]:
    """Members that the fault is certain to target: those it names, or all of the role."""
    target = fault.target
    if target.role is Role.PARTITION_REPLICA:
        replicas = _replicas(fault, plan)
        if (target.count or 1) < len(replicas):
            return frozenset()
        return frozenset(broker.member for broker in plan.brokers if broker.ordinal in replicas)
    if target.role is Role.BROKER and plan.metadata.referenced:
        return frozenset(map(member_of, target.ordinals))
    if target.role not in KNOWN or (target.role is Role.RACK and target.zone is None):
        return frozenset()
    fitting = find_candidates(fault, plan, KafkaState())
    if target_count(fault, fitting) < len(fitting):
        return frozenset()
    return frozenset(candidate.member for candidate in fitting)


def _replicas(fault: Fault, plan: Plan) -> tuple[int, ...]:
    """Brokers with a replica of the fault's partition; none where another fault moves it."""
    topic = next((planned for planned in plan.topics if planned.name == fault.target.topic), None)
    if topic is None:
        return ()
    partition = (topic.name, fault.target.partition or 0)
    if any(
        partition in ACTIONS[entry.action].moved_partitions(entry, plan)
        for entry in plan.spec.faults
    ):
        # The assignment may have changed when the fault is due.
        return ()
    return tuple(topic.assignment.get(partition[1], ()))
