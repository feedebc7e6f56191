from __future__ import annotations

from typing import Any

import pytest

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

NOBODY: frozenset[str] = frozenset()


def view(brokers: int = 3, controller: int = 0, **partition: Any) -> ClusterView:
    fields: dict[str, Any] = {"leader": 0, "replicas": (0, 1, 2), "isr": (2, 1, 0)} | partition
    one = Partition("foo", 0, **fields)
    return ClusterView(tuple(Broker(i, "h") for i in range(brokers)), controller, (one,))


@pytest.mark.parametrize(
    ("seen", "held", "lacking"),
    [
        (view(), NOBODY, ""),
        (view(brokers=2), NOBODY, "broker 2 is not registered"),
        (view(brokers=2, isr=(0, 1)), frozenset({"kafka-2"}), ""),
        (view(isr=(0, 1)), NOBODY, "broker 2 is not in the ISR of partition foo-0"),
        (view(leader=NO_BROKER), NOBODY, "partition foo-0 has no leader"),
        (view(controller=NO_BROKER), NOBODY, "Kafka has no controller"),
    ],
)
def test_the_cluster_is_whole(
    simulate: Any, seen: ClusterView, held: frozenset[str], lacking: str
) -> None:
    assert recovery.missing_replica(simulate([]).plan, seen, held) == lacking


def group(members: int = 2, state: str = "STABLE", committed: int = 10_000) -> GroupView:
    several = tuple(GroupMember(str(i), "c", "h", ()) for i in range(members))
    return GroupView("g", state, 0, several, {("foo", 0): committed})


@pytest.mark.parametrize(
    ("seen", "lacking"),
    [
        (group(), ""),
        (group(state="PREPARING_REBALANCING"), "group g is preparing_rebalancing"),
        # A dead member counts until its session ends, so three of two are no recovery.
        (group(members=3), "group g has 3 members of 2"),
        # One producer of 500/s: 1,500 records are three seconds.
        (group(committed=8_500), ""),
        (group(committed=8_499), "group g is 1501 records behind"),
    ],
)
def test_groups_have_caught_up(simulate: Any, seen: GroupView, lacking: str) -> None:
    plan = simulate([]).plan
    bounds = [Bounds("foo", 0, 0, 0, 10_000, 10_000, 0, 1, (0,))]
    consumer = plan.spec.traffic.consumers[0]
    assert recovery.unsettled_group(plan, consumer, seen, bounds, NOBODY) == lacking


@pytest.mark.parametrize(
    ("isolation", "lacking"),
    [("read_committed", ""), ("read_uncommitted", "group g is 9000 records behind")],
)
def test_an_open_transaction_holds_back_only_who_reads_what_is_committed(
    simulate: Any, isolation: str, lacking: str
) -> None:
    reader = {"name": "c", "topics": ["foo"], "group": "g", "isolation": isolation}
    writer = {"name": "p", "topic": "foo", "recordsPerSecond": 500}
    plan = simulate([], traffic={"producers": [writer], "consumers": [reader]}).plan
    bounds = [Bounds("foo", 0, 0, 0, 19_000, 10_000, 0, 1, (0,))]
    seen = group(members=1)
    consumer = plan.spec.traffic.consumers[0]
    assert recovery.unsettled_group(plan, consumer, seen, bounds, NOBODY) == lacking


@pytest.mark.parametrize(("committed", "lacking"), [(9_100, ""), (9_099, "901 records behind")])
def test_what_consumers_make_flows_as_fast_as_what_they_read(
    simulate: Any, committed: int, lacking: str
) -> None:
    maker: dict[str, Any] = {"name": "m", "topics": ["foo"], "group": "makers", "replicas": 2}
    maker |= {"commit": "Transactional", "isolation": "read_committed"}
    maker |= {"output": {"topic": "made"}}
    reader = {"name": "c", "topics": ["made"], "group": "g"}
    writer = {"name": "p", "topic": "foo", "recordsPerSecond": 300}
    plan = simulate(
        [],
        topics=[
            {"name": name, "partitions": 3, "replicationFactor": 3} for name in ("foo", "made")
        ],
        traffic={"producers": [writer], "consumers": [maker, reader]},
    ).plan
    bounds = [Bounds("made", 0, 0, 0, 10_000, 10_000, 0, 1, (0,))]
    several = GroupView("g", "STABLE", 0, group(members=1).members, {("made", 0): committed})
    found = recovery.unsettled_group(plan, plan.spec.traffic.consumers[1], several, bounds, NOBODY)
    assert found.endswith(lacking)
    assert bool(found) == bool(lacking)


def test_pods_that_a_fault_took_are_not_taken_for_their_successors(simulate: Any) -> None:
    sim = simulate([])
    uid = sim.pods["t-kafka-1-0"]["metadata"]["uid"]
    assert recovery.missing_pod(sim.plan, sim.pods, NOBODY, NOBODY) == ""
    assert "t-kafka-1-0" in recovery.missing_pod(sim.plan, sim.pods, NOBODY, frozenset({uid}))
    held = frozenset({"kafka-1"})
    assert recovery.missing_pod(sim.plan, sim.pods, held, frozenset({uid})) == ""


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({"containerStatuses": [{"state": {"running": {}}}]}, ""),
        ({"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}, ""),
        ({"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]}, "ErrImage"),
        ({"conditions": [{"type": "PodScheduled", "status": "False"}]}, "not scheduled"),
    ],
)
def test_a_container_that_starts_and_fails_is_kafkas(
    simulate: Any, status: dict[str, Any], says: str
) -> None:
    sim = simulate([])
    sim.pods["t-kafka-0-0"]["status"] = status
    said = recovery.not_running(sim.plan, sim.pods, NOBODY)
    assert bool(said) is bool(says)
    assert says in said
