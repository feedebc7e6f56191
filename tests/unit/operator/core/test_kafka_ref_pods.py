"""Faults on the pods of a cluster that somebody else runs: whom they hit, and what is refused."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.operator.core.test_kafka_ref import SPEC, world_of
from tests.unit.operator.doubles.objects import copied
from tests.unit.operator.doubles.owner import LABELS, OWNERS_NAMESPACE

from krt_operator.api.broker_pods import PodManager
from krt_operator.errors import TransientError
from krt_operator.faults.action import UnresolvedTargetError
from krt_operator.faults.broker_pods import find_pod, why_not_managed
from krt_operator.kafka.addresses import resolve_host
from krt_operator.kafka.views import Broker

if TYPE_CHECKING:
    from tests.unit.operator.doubles.world import World

PODS = {"namespace": OWNERS_NAMESPACE, "selector": {"matchLabels": LABELS}}


def delete(**target: Any) -> dict[str, Any]:
    return {"name": "gone", "action": "DeletePod", "target": target}


LEADER = delete(role="PartitionLeader", topic="krt-foo", partition=0)


def world_with_pods(*faults: dict[str, Any], **pods: Any) -> World:
    world = world_of(
        kafkaRef=SPEC["kafkaRef"] | {"pods": PODS | pods}, faults=list(faults or [LEADER])
    )
    world.owner.run_brokers(13, 11, 12)
    return world


def refusal(world: World) -> dict[str, Any]:
    """What the test ends with, before anything is built."""
    status = world.run_on(seconds=60, pause=5)
    assert status["phase"] == "Error", status
    assert world.names_of("Pod") == world.names_of("ConfigMap") == set()
    assert world.owner.deleted == []
    found: dict[str, Any] = world.condition("Provisioned")
    return found


def test_delete_pod_of_the_leader_hits_its_pod_by_address_and_passes() -> None:
    world = world_with_pods()
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert status["inconclusiveReasons"] == []
    (entry,) = status["faults"]
    (target,) = entry["targets"]
    broker = int(target["member"].removeprefix("kafka-"))
    assert target["pod"] == {13: "my-cluster-pool-0", 11: "my-cluster-pool-1"}.get(
        broker, "my-cluster-pool-2"
    )
    assert (target["namespace"], target["role"]) == (OWNERS_NAMESPACE, "PartitionLeader")
    assert world.owner.deleted == [target["pod"]]
    assert world.owner.trespasses == []
    kinds = {seen["kind"] for seen in entry["observations"]}
    assert {"PodDeleted", "BrokerFenced", "IsrShrank", "LeaderMoved"} <= kinds
    assert entry["verified"]
    assert entry["recoveredAt"] > entry["revertedAt"]


def test_delete_pod_of_a_broker_by_id_hits_no_other() -> None:
    world = world_with_pods(delete(role="Broker", ordinals=[12]))
    world.run()
    assert world.owner.deleted == ["my-cluster-pool-2"]


@pytest.mark.parametrize(
    "right",
    ["fault brokerpods", "list pods", "delete pods"],
)
def test_missing_right_is_refused_with_the_role_binding_to_make(right: str) -> None:
    world = world_with_pods()
    world.owner.denied = {right}
    condition = refusal(world)
    assert condition["reason"] == "BrokerPodsForbidden"
    for part in (
        right,
        "namespace kafka",
        "RoleBinding",
        "ServiceAccount krt-kafka-resilience in namespace krt-system",
        "kafkaRef.podNamespaces={kafka}",
        "resources:[pods/ephemeralcontainers],verbs:[patch]",
    ):
        assert part in condition["message"]


def test_right_that_is_granted_soon_lets_the_run_go_on() -> None:
    world = world_with_pods()
    world.owner.denied = {"fault brokerpods"}
    world.run_on(seconds=15, pause=5)
    assert world.condition("Reconciling")["reason"] == "BrokerPodsForbidden"
    world.owner.denied = set()
    assert world.run_on()["verdict"] == "Passed"


def test_broker_without_a_pod_is_refused_and_named() -> None:
    world = world_with_pods()
    world.owner.pods["my-cluster-pool-1"]["metadata"]["labels"] = {"app": "else"}
    condition = refusal(world)
    assert condition["reason"] == "BrokerPodNotFound"
    assert "broker 11 advertises host-11 (10.9.0.2)" in condition["message"]
    assert "spec.kafkaRef.pods.selector" in condition["message"]


def test_broker_whose_host_has_no_address_is_refused_and_named() -> None:
    world = world_with_pods()
    del world.owner.addresses["host-12"]
    condition = refusal(world)
    assert condition["reason"] == "BrokerPodNotFound"
    assert "broker 12 advertises host-12" in condition["message"]


def test_broker_that_no_fault_may_hit_needs_no_pod() -> None:
    world = world_with_pods(delete(role="Broker", ordinals=[11]))
    del world.owner.addresses["host-12"]
    assert world.run()["verdict"] == "Passed"


def test_run_without_a_fault_on_brokers_needs_no_right_to_their_pods() -> None:
    crash = {"name": "down", "action": "CrashPod", "target": {"role": "Consumer"}}
    world = world_with_pods(crash)
    world.owner.denied = {"fault brokerpods", "get pods", "list pods", "delete pods"}
    assert world.run_on(seconds=900)["verdict"] == "Passed"


def test_pod_without_the_manager_that_is_named_is_refused() -> None:
    world = world_with_pods()
    world.owner.pods["my-cluster-pool-0"]["metadata"]["ownerReferences"] = []
    condition = refusal(world)
    assert condition["reason"] == "BrokerPodUnusable"
    assert "pod my-cluster-pool-0 is controlled by nothing" in condition["message"]


def test_pod_whose_data_would_go_with_it_is_refused() -> None:
    world = world_with_pods()
    world.owner.pods["my-cluster-pool-2"]["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    condition = refusal(world)
    assert condition["reason"] == "BrokerPodUnusable"
    assert "pod my-cluster-pool-2 has no PersistentVolumeClaim" in condition["message"]


def test_broker_id_that_is_not_there_is_refused_with_those_that_are() -> None:
    condition = refusal(world_with_pods(delete(role="Broker", ordinals=[7])))
    assert condition["reason"] == "TooFewTargets"
    assert "no broker 7" in condition["message"]
    assert "11, 12, 13" in condition["message"]


@pytest.mark.parametrize(
    "target",
    [
        {"role": "Controller"},
        {
            "role": "PartitionFollower",
            "topic": "krt-foo",
            "partition": 0,
            "excludeController": True,
        },
    ],
)
def test_controller_of_a_kraft_cluster_is_refused(target: dict[str, Any]) -> None:
    condition = refusal(world_with_pods(delete(**target)))
    assert condition["reason"] == "FaultUnsupported"
    assert "KRaft" in condition["message"]


def pod(name: str, *addresses: str, phase: str = "Running", **meta: Any) -> dict[str, Any]:
    ips = [{"ip": address} for address in addresses]
    return {
        "metadata": {"name": name, "uid": name, **meta},
        "status": {"phase": phase, "podIPs": ips},
    }


BROKER = Broker(7, "broker.kafka.svc")


def test_find_pod_tells_ipv6_in_another_spelling() -> None:
    pods = [pod("a", "10.0.0.1"), pod("b", "10.0.0.2", "fd00::2")]
    assert find_pod(BROKER, frozenset({"fd00:0::2"}), pods, "kafka")["metadata"]["name"] == "b"


def test_find_pod_of_several_with_the_address_names_them() -> None:
    pods = [pod("a", "10.0.0.1"), pod("b", "10.0.0.1")]
    with pytest.raises(UnresolvedTargetError, match=r"broker 7 .* several pods .*: a, b"):
        find_pod(BROKER, frozenset({"10.0.0.1"}), pods, "kafka")


def test_find_pod_takes_no_pod_that_has_ended() -> None:
    with pytest.raises(UnresolvedTargetError, match="no pod in namespace kafka"):
        find_pod(BROKER, frozenset({"10.0.0.1"}), [pod("a", "10.0.0.1", phase="Failed")], "kafka")


@pytest.mark.parametrize(
    ("manager", "kind", "managed"),
    [
        (PodManager.STATEFUL_SET, "StatefulSet", True),
        (PodManager.STATEFUL_SET, "StrimziPodSet", False),
        (PodManager.STRIMZI, "StrimziPodSet", True),
        (PodManager.STRIMZI, "ReplicaSet", False),
        (PodManager.NONE, "ReplicaSet", True),
    ],
)
def test_why_not_managed_owner_of_another_kind_is_named(
    manager: PodManager, kind: str, managed: bool
) -> None:
    found = pod("a", ownerReferences=[{"kind": kind, "controller": True}])
    assert (why_not_managed(found, manager) == "") is managed


def test_resolve_host_of_an_address_is_the_address() -> None:
    assert resolve_host("127.0.0.1") == frozenset({"127.0.0.1"})


def test_resolve_host_that_does_not_exist_is_transient() -> None:
    with pytest.raises(TransientError, match=r"host no-such-host\.invalid cannot be resolved"):
        resolve_host("no-such-host.invalid")


class Trick(StrEnum):
    """What the owner does to a pod while a fault is about to delete it."""

    RELABELLED = "loses its labels"
    REPLACED = "is replaced by one of the same name"
    COPIED = "has a copy with the labels and another address"


def play_trick(world: World, trick: Trick) -> None:
    name = "my-cluster-pool-2"
    found = world.owner.pods.get(name)
    if found is None:
        return
    match trick:
        case Trick.RELABELLED:
            found["metadata"]["labels"] = {}
        case Trick.REPLACED:
            found["metadata"]["uid"] = "another"
        case Trick.COPIED:
            copy = copied(found)
            copy["metadata"] |= {"name": f"{name}-copy", "uid": "copy"}
            copy["status"]["podIP"] = "10.9.9.9"
            world.owner.pods[f"{name}-copy"] = copy


# Between the read of the pod and its deletion.
@example(Trick.RELABELLED, 8)
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(Trick), st.integers(min_value=0, max_value=30))
def test_delete_pod_whatever_the_owner_does_meanwhile_touches_no_other_pod(
    trick: Trick, before: int
) -> None:
    world = world_with_pods(delete(role="Broker", ordinals=[12]))
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == before:
            play_trick(world, trick)

    world.owner.before_call = count
    world.run_on(seconds=300)
    assert world.owner.trespasses == []
    assert set(world.owner.deleted) <= {"my-cluster-pool-2"}


def test_right_that_is_taken_away_before_the_fault_ends_the_run_and_deletes_nothing() -> None:
    world = world_with_pods()
    world.run(until="Injecting")
    world.owner.denied = {"list pods"}
    status = world.run_on(seconds=900)
    assert status["phase"] in {"Error", "Completed"}
    assert status["verdict"] == "Inconclusive"
    assert world.owner.deleted == []
    assert set(world.topics) == {"payments"}
