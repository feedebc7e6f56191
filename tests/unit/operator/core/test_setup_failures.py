"""What a cluster cannot give ends in phase Error, with a condition that names field and remedy."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World


def _refused(world: World, condition: str, reason: str) -> str:
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    found = world.condition(condition)
    assert (found["status"], found["reason"]) == ("False", reason)
    assert world.condition("Succeeded")["status"] == "False"
    assert world.names_of("StatefulSet") == set()
    assert reason in status["summary"]
    return str(found["message"])


def _until_there(world: World, kind: str, name: str) -> None:
    engine = world.controller()
    while (kind, name) not in world.objects:
        world.tick(engine.run_once("t") or 0.01)


def test_placement_with_too_few_zones_names_the_replication_factor(world: World) -> None:
    world.nodes = world.nodes[:2]
    assert "spec.topics[].replicationFactor" in _refused(world, "Provisioned", "TooFewZones")
    assert world.names_of("ConfigMap") == set(), "nothing may be built before it is known to fit"


def test_placement_without_labelled_nodes_names_the_rack_label(
    make_world: Callable[..., World],
) -> None:
    world = make_world(kafka={"rack": {"topologyKey": "example.com/rack"}})
    assert "example.com/rack" in _refused(world, "Provisioned", "TooFewZones")


def test_placement_with_too_few_nodes_names_the_zookeeper_replicas(world: World) -> None:
    world.nodes = world.nodes[:4]
    message = _refused(world, "Provisioned", "TooFewNodes")
    assert "spec.zookeeper.replicas" in message
    assert "separateZooKeeper" in message


def test_storage_check_with_missing_named_claim_ends_the_run(
    make_world: Callable[..., World],
) -> None:
    world = make_world(evidence={"claimName": "mine"})
    assert "mine" in _refused(world, "Provisioned", "EvidenceClaimMissing")


def test_storage_check_with_read_write_once_claim_ends_the_run(
    make_world: Callable[..., World],
) -> None:
    world = make_world(evidence={"claimName": "mine"})
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "mine"}}
    world.put({**claim, "spec": {"accessModes": ["ReadWriteOnce"]}})
    assert "ReadWriteMany" in _refused(world, "Provisioned", "EvidenceNotShared")


def test_storage_check_without_storage_class_ends_the_run(world: World) -> None:
    world.classes = set()
    assert "evidence.storageClass" in _refused(world, "Provisioned", "EvidenceStorageClassMissing")


def test_preflight_with_unshared_volume_ends_the_run(world: World) -> None:
    world.preflight = None
    message = _refused(world, "Provisioned", "EvidenceNotShared")
    assert "spec.evidence.claimName" in message
    assert "within 65 s" in message


def test_preflight_with_pod_that_never_ran_times_out(world: World) -> None:
    world.preflight = None
    world.stuck = {"t-preflight-write"}
    message = _refused(world, "Provisioned", "PreflightTimedOut")
    assert "t-preflight-write" in message


def test_preflight_with_late_pod_passes(world: World) -> None:
    world.preflight = None
    world.stuck = {"t-preflight-write"}
    assert world.run(seconds=80)["phase"] == "Provisioning"
    world.stuck = set()
    assert world.run(seconds=30)["phase"] == "Provisioning"
    world.preflight = (0, "shared")
    assert world.run()["phase"] == "Completed"


def test_evidence_claim_never_bound_ends_the_run(world: World) -> None:
    world.binding = timedelta(days=1)
    message = _refused(world, "Provisioned", "EvidenceNotBound")
    assert "spec.evidence.claimName" in message
    assert "kubectl describe pvc krt-evidence -n ns" in message
    assert world.names_of("Pod") == set()


def test_evidence_claim_with_lost_volume_ends_the_run(make_world: Callable[..., World]) -> None:
    world = make_world(evidence={"claimName": "mine"})
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "mine"}}
    world.put({**claim, "spec": {"accessModes": ["ReadWriteMany"]}})
    world.binding = timedelta(days=1)
    world.objects["PersistentVolumeClaim", "mine"]["status"] = {"phase": "Lost"}
    assert "mine is Lost" in _refused(world, "Provisioned", "EvidenceNotBound")
    started = datetime.fromisoformat(world.status["startTime"])
    assert world.time - started < timedelta(seconds=30), "it does not come back by waiting"


def test_evidence_claim_that_waits_for_its_consumer_is_not_waited_for(world: World) -> None:
    world.binding_mode = "WaitForFirstConsumer"
    assert world.run()["phase"] == "Completed"


def test_preflight_with_unwritable_volume_ends_the_run(world: World) -> None:
    world.preflight = (6, "user 10001 in group 0 cannot write")
    assert "fsGroup" in _refused(world, "Provisioned", "EvidenceNotWritable")


def test_storage_check_with_missing_member_class_names_the_field(
    make_world: Callable[..., World],
) -> None:
    world = make_world(kafka={"storage": {"storageClassName": "fast"}})
    message = _refused(world, "Provisioned", "StorageClassMissing")
    assert "spec.kafka.storage.storageClassName" in message


def test_provisioning_with_unpullable_image_ends_the_run(world: World) -> None:
    _until_there(world, "Pod", "t-preflight-write")
    pod = world.objects["Pod", "t-preflight-write"]
    world.stuck = {"t-preflight-write"}
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    pod["status"] = {
        "phase": "Pending",
        "initContainerStatuses": [{"image": "kafka:1", "state": {"waiting": waiting}}],
    }
    message = _refused(world, "Provisioned", "ImageUnpullable")
    assert "images.kafka" in message
    assert "no such image" in message


def test_preflight_with_image_without_kafka_ends_the_run(world: World) -> None:
    _until_there(world, "Pod", "t-preflight-write")
    world.stuck = {"t-preflight-write"}
    ended = {"terminated": {"exitCode": 2}}
    world.objects["Pod", "t-preflight-write"]["status"] = {
        "phase": "Failed",
        "initContainerStatuses": [{"image": "kafka:1", "state": ended}],
    }
    assert "/opt/kafka/libs" in _refused(world, "Provisioned", "KafkaImageUnusable")


@pytest.mark.parametrize(
    ("role", "reason"), [("write", "KafkaImageUnusable"), ("read", "ScoringImageUnusable")]
)
def test_preflight_with_a_check_that_was_killed_says_so(
    world: World, role: str, reason: str
) -> None:
    pod = f"t-preflight-{role}"
    _until_there(world, "Pod", pod)
    world.stuck = {pod}
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    world.objects["Pod", pod]["status"] = {
        "phase": "Failed",
        "initContainerStatuses": [{"name": "image", "state": ended}],
    }
    message = _refused(world, "Provisioned", reason)
    assert "(ended with exit code 137: OOMKilled)" in message
    assert "lacks" not in message


def test_provisioning_with_members_never_ready_names_the_obstacle(world: World) -> None:
    world.stuck = {"t-kafka-1-0"}
    _until_there(world, "Pod", "t-kafka-1-0")
    unscheduled = {"type": "PodScheduled", "status": "False", "message": "Insufficient memory"}
    world.objects["Pod", "t-kafka-1-0"]["status"]["conditions"] = [unscheduled]
    message = _refused(world, "Provisioned", "ProvisioningTimedOut")
    assert "kafka-1" in message
    assert "Insufficient memory" in message


def test_rack_check_with_wrong_rack_ends_the_run(world: World) -> None:
    _until_there(world, "ConfigMap", "t-kafka-1")
    files = world.objects["ConfigMap", "t-kafka-1"]["data"]
    files["server.properties"] = files["server.properties"].replace("=zone-b", "=elsewhere")
    assert "elsewhere" in _refused(world, "Provisioned", "RackNotReported")


def test_warmup_without_traffic_ends_the_run(world: World) -> None:
    world.run(until="Warmup")
    world.stuck = {"t-producer-a-0"}
    message = _refused(world, "TrafficEstablished", "TrafficNotEstablished")
    assert "t-producer-a-0" in message


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        ("Service", "t-kafka-0"),
        ("Service", "t-old"),
        ("PodDisruptionBudget", "t-kafka"),
        ("ServiceAccount", "t-traffic"),
        ("RoleBinding", "t-traffic"),
    ],
)
def test_pending_with_objects_of_a_previous_test_waits(world: World, kind: str, left: str) -> None:
    labels = {"kafkaresilience.dev/test": "t", "kafkaresilience.dev/test-uid": "uid-before"}
    world.put({"kind": kind, "metadata": {"name": left, "labels": labels}})
    assert world.run(seconds=20)["phase"] == "Pending"
    assert world.condition("Provisioned")["reason"] == "PreviousTestTerminating"
    del world.objects[kind, left]
    assert world.run()["phase"] == "Completed"


def crash(name: str, **fields: Any) -> dict[str, Any]:
    target = {"role": "Broker", "ordinals": [1]}
    return {"name": name, "action": "CrashPod", "target": target, "duration": "20s"} | fields


def test_feasibility_with_unknown_zone_ends_the_run(make_world: Callable[..., World]) -> None:
    world = make_world(faults=[crash("rack", target={"role": "Rack", "zone": "zone-x"})])
    message = _refused(world, "Provisioned", "NoSuchZone")
    assert message.startswith("spec.faults[rack].target.zone")


def test_feasibility_with_two_faults_on_one_pod_ends_the_run(
    make_world: Callable[..., World],
) -> None:
    world = make_world(faults=[crash("a"), crash("b", startsAfter={"event": "Started"})])
    message = _refused(world, "Provisioned", "FaultsCollide")
    assert "spec.faults[b] targets kafka-1 while a is open on it" in message
    assert world.names_of("ConfigMap") == set(), "nothing may be built before it is known to fit"
