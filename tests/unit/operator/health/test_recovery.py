from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import LEADER, entry, play, times

from krt_operator.api.status import FaultStatus
from krt_operator.faults.registry import ACTIONS
from krt_operator.health import recovery
from krt_operator.kafka.views import (
    NO_BROKER,
    Bounds,
    Broker,
    ClusterView,
    GroupMember,
    GroupView,
    Partition,
)

NO_MEMBERS: frozenset[str] = frozenset()


def view(brokers: int = 3, controller: int = 0, **partition: Any) -> ClusterView:
    fields: dict[str, Any] = {"leader": 0, "replicas": (0, 1, 2), "isr": (2, 1, 0)} | partition
    one = Partition("foo", 0, **fields)
    return ClusterView(tuple(Broker(i, "h") for i in range(brokers)), controller, (one,))


@pytest.mark.parametrize(
    ("seen", "down", "lacking"),
    [
        (view(), NO_MEMBERS, ""),
        (view(brokers=2), NO_MEMBERS, "broker 2 is not registered"),
        (view(brokers=2, isr=(0, 1)), frozenset({"kafka-2"}), ""),
        (view(isr=(0, 1)), NO_MEMBERS, "broker 2 is not in the ISR of partition foo-0"),
        (view(leader=NO_BROKER), NO_MEMBERS, "partition foo-0 has no leader"),
        (view(controller=NO_BROKER), NO_MEMBERS, "Kafka has no controller"),
    ],
)
def test_missing_replica_view_names_what_is_missing(
    seen: ClusterView, down: frozenset[str], lacking: str
) -> None:
    assert recovery.missing_replica(SimulatedCluster([]).plan, seen, down) == lacking


def group(members: int = 2, state: str = "Stable", committed: int = 10_000) -> GroupView:
    several = tuple(GroupMember(str(i), "c", "h", ()) for i in range(members))
    return GroupView("g", state, 0, several, {("foo", 0): committed})


@pytest.mark.parametrize(
    ("seen", "lacking"),
    [
        (group(), ""),
        (group(state="PreparingRebalance"), "group g is in state PreparingRebalance"),
        # A dead member counts until its session ends, so three of two are no recovery.
        (group(members=3), "group g has 3 members of 2"),
        # One producer of 500/s: 1,500 records are three seconds.
        (group(committed=8_500), ""),
        (group(committed=8_499), "group g is 1501 records behind"),
    ],
)
def test_unsettled_group_state_size_and_lag_are_checked(seen: GroupView, lacking: str) -> None:
    plan = SimulatedCluster([]).plan
    bounds = [Bounds("foo", 0, 0, 0, 10_000, 10_000, 0, 1, (0,))]
    consumer = plan.spec.traffic.consumers[0]
    assert recovery.unsettled_group(plan, consumer, seen, bounds, NO_MEMBERS) == lacking


@pytest.mark.parametrize(
    ("isolation", "lacking"),
    [("read_committed", ""), ("read_uncommitted", "group g is 9000 records behind")],
)
def test_unsettled_group_open_transaction_holds_back_read_committed_only(
    isolation: str, lacking: str
) -> None:
    reader = {"name": "c", "topics": ["foo"], "group": "g", "isolation": isolation}
    writer = {"name": "p", "topic": "foo", "recordsPerSecond": 500}
    plan = SimulatedCluster([], traffic={"producers": [writer], "consumers": [reader]}).plan
    bounds = [Bounds("foo", 0, 0, 0, 19_000, 10_000, 0, 1, (0,))]
    seen = group(members=1)
    consumer = plan.spec.traffic.consumers[0]
    assert recovery.unsettled_group(plan, consumer, seen, bounds, NO_MEMBERS) == lacking


@pytest.mark.parametrize(("committed", "lacking"), [(9_100, ""), (9_099, "901 records behind")])
def test_unsettled_group_output_topic_has_the_rate_of_its_input(
    committed: int, lacking: str
) -> None:
    maker: dict[str, Any] = {"name": "m", "topics": ["foo"], "group": "makers", "replicas": 2}
    maker |= {"commit": "Transactional", "isolation": "read_committed"}
    maker |= {"output": {"topic": "made"}}
    reader = {"name": "c", "topics": ["made"], "group": "g"}
    writer = {"name": "p", "topic": "foo", "recordsPerSecond": 300}
    plan = SimulatedCluster(
        [],
        topics=[
            {"name": name, "partitions": 3, "replicationFactor": 3} for name in ("foo", "made")
        ],
        traffic={"producers": [writer], "consumers": [maker, reader]},
    ).plan
    bounds = [Bounds("made", 0, 0, 0, 10_000, 10_000, 0, 1, (0,))]
    several = GroupView("g", "Stable", 0, group(members=1).members, {("made", 0): committed})
    found = recovery.unsettled_group(
        plan, plan.spec.traffic.consumers[1], several, bounds, NO_MEMBERS
    )
    assert found.endswith(lacking)
    assert bool(found) == bool(lacking)


def test_missing_pod_replaced_uid_does_not_count_as_ready() -> None:
    sim = SimulatedCluster([])
    uid = sim.pods["t-kafka-1-0"]["metadata"]["uid"]
    assert recovery.missing_pod(sim.plan, sim.pods, NO_MEMBERS, NO_MEMBERS) == ""
    assert "t-kafka-1-0" in recovery.missing_pod(sim.plan, sim.pods, NO_MEMBERS, frozenset({uid}))
    down = frozenset({"kafka-1"})
    assert recovery.missing_pod(sim.plan, sim.pods, down, frozenset({uid})) == ""


UP = {"state": {"running": {}}, "ready": True}
UNREADY = {"type": "Ready", "status": "False"}


@pytest.mark.parametrize(
    ("status", "part"),
    [
        ({"containerStatuses": [{"state": {"running": {}}}]}, ""),
        ({"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}, ""),
        ({"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]}, "ErrImage"),
        ({"conditions": [{"type": "PodScheduled", "status": "False"}]}, "not scheduled"),
        ({"containerStatuses": [UP], "conditions": [UNREADY]}, "of a node that does not report"),
        ({"containerStatuses": [UP | {"ready": False}], "conditions": [UNREADY]}, ""),
        ({"containerStatuses": [UP], "conditions": [UNREADY | {"status": "True"}]}, ""),
        ({"containerStatuses": [UP, UP | {"ready": False}], "conditions": [UNREADY]}, ""),
    ],
)
def test_not_running_names_what_kubernetes_rather_than_kafka_keeps_down(
    status: dict[str, Any], part: str
) -> None:
    sim = SimulatedCluster([])
    sim.pods["t-kafka-0-0"]["status"] = status
    sentence = recovery.not_running(sim.plan, FaultStatus(name="f"), sim.run()[1], NO_MEMBERS)
    assert bool(sentence) is bool(part)
    assert part in sentence


@pytest.mark.parametrize(
    ("session", "seconds", "after"),
    [
        # A third of the session may have passed without a ping.
        (6, 4, 8),
        (6, 3, None),
        # Of a long one, 10 s.
        (60, 50, 62),
        (60, 49, None),
    ],
)
def test_sessions_expired_at_frozen_broker_counts_the_session_from_the_last_ping(
    session: int, seconds: int, after: int | None
) -> None:
    config = {"zookeeper.session.timeout.ms": str(session * 1000)}
    sim = SimulatedCluster(
        [LEADER | {"action": "FreezePod", "delay": "0s"} | {"duration": f"{seconds}s"}],
        kafka={"config": config},
    )
    play(sim)
    fault, journaled = sim.plan.spec.faults[0], entry(sim, "leader-down")
    injected = times(sim, "leader-down").injected
    ends = None if after is None else injected + timedelta(seconds=after)
    silent = ACTIONS[fault.action].ends_silently(fault, sim.plan.zookeeper_session.delta)
    assert (recovery.sessions_expired_at(journaled, sim.plan) if silent else None) == ends
