"""What a cluster cannot give ends in phase Error, with a condition that names field and remedy."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def _refused(world: Any, condition: str, reason: str) -> str:
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    said = world.condition(condition)
    assert (said["status"], said["reason"]) == ("False", reason)
    assert world.condition("Succeeded")["status"] == "False"
    assert world.names_of("StatefulSet") == set()
    assert reason in status["summary"]
    return str(said["message"])


def _until_there(world: Any, kind: str, name: str) -> None:
    engine = world.controller()
    while (kind, name) not in world.objects:
        world.tick(engine.run_once("t") or 0.01)


def test_too_few_zones_for_the_replicas(world: Any) -> None:
    world.nodes = world.nodes[:2]
    assert "spec.topics[].replicationFactor" in _refused(world, "Provisioned", "TooFewZones")
    assert world.names_of("ConfigMap") == set(), "nothing may be built before it is known to fit"


def test_no_node_bears_the_rack_label(make_world: Callable[..., Any]) -> None:
    world = make_world(kafka={"rack": {"topologyKey": "example.com/rack"}})
    assert "example.com/rack" in _refused(world, "Provisioned", "TooFewZones")


def test_too_few_nodes_to_keep_zookeeper_apart(world: Any) -> None:
    world.nodes = world.nodes[:4]
    told = _refused(world, "Provisioned", "TooFewNodes")
    assert "spec.zookeeper.replicas" in told
    assert "separateZooKeeper" in told


def test_named_claim_is_missing(make_world: Callable[..., Any]) -> None:
    world = make_world(evidence={"claimName": "mine"})
    assert "mine" in _refused(world, "Provisioned", "EvidenceClaimMissing")


def test_claim_of_one_node_only(make_world: Callable[..., Any]) -> None:
    world = make_world(evidence={"claimName": "mine"})
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "mine"}}
    world.put({**claim, "spec": {"accessModes": ["ReadWriteOnce"]}})
    assert "ReadWriteMany" in _refused(world, "Provisioned", "EvidenceNotShared")


def test_no_class_to_make_the_claim_from(world: Any) -> None:
    world.classes = set()
    assert "evidence.storageClass" in _refused(world, "Provisioned", "EvidenceStorageClassMissing")


def test_volume_that_is_not_shared_after_all(world: Any) -> None:
    world.preflight = None
    told = _refused(world, "Provisioned", "EvidenceNotShared")
    assert "spec.evidence.claimName" in told
    assert "within 65 s" in told


def test_a_preflight_pod_that_never_ran_is_no_word_on_the_volume(world: Any) -> None:
    world.preflight = None
    world.stuck = {"t-preflight-write"}
    told = _refused(world, "Provisioned", "PreflightTimedOut")
    assert "t-preflight-write" in told


def test_a_preflight_pod_that_comes_late_still_finds_the_other(world: Any) -> None:
    world.preflight = None
    world.stuck = {"t-preflight-write"}
    assert world.run(seconds=80)["phase"] == "Provisioning"
    world.stuck = set()
    assert world.run(seconds=30)["phase"] == "Provisioning"
    world.preflight = (0, "shared")
    assert world.run()["phase"] == "Completed"


def test_claim_that_is_never_bound(world: Any) -> None:
    world.binding = timedelta(days=1)
    told = _refused(world, "Provisioned", "EvidenceNotBound")
    assert "spec.evidence.claimName" in told
    assert "kubectl describe pvc krt-evidence -n ns" in told
    assert world.names_of("Pod") == set()


def test_claim_whose_volume_is_lost(make_world: Callable[..., Any]) -> None:
    world = make_world(evidence={"claimName": "mine"})
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "mine"}}
    world.put({**claim, "spec": {"accessModes": ["ReadWriteMany"]}})
    world.binding = timedelta(days=1)
    world.objects["PersistentVolumeClaim", "mine"]["status"] = {"phase": "Lost"}
    assert "mine is Lost" in _refused(world, "Provisioned", "EvidenceNotBound")
    started = datetime.fromisoformat(world.status["startTime"])
    assert world.time - started < timedelta(seconds=30), "it does not come back by waiting"


def test_claim_that_is_bound_when_a_pod_asks_for_it(world: Any) -> None:
    world.binding_mode = "WaitForFirstConsumer"
    assert world.run()["phase"] == "Completed"


def test_volume_that_refuses_our_group(world: Any) -> None:
    world.preflight = (6, "user 10001 in group 0 cannot write")
    assert "fsGroup" in _refused(world, "Provisioned", "EvidenceNotWritable")


def test_member_storage_class_is_missing(make_world: Callable[..., Any]) -> None:
    world = make_world(kafka={"storage": {"storageClassName": "fast"}})
    told = _refused(world, "Provisioned", "StorageClassMissing")
    assert "spec.kafka.storage.storageClassName" in told


def test_unpullable_image(world: Any) -> None:
    _until_there(world, "Pod", "t-preflight-write")
    pod = world.objects["Pod", "t-preflight-write"]
    world.stuck = {"t-preflight-write"}
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    pod["status"] = {
        "phase": "Pending",
        "initContainerStatuses": [{"image": "kafka:1", "state": {"waiting": waiting}}],
    }
    told = _refused(world, "Provisioned", "ImageUnpullable")
    assert "images.kafka" in told
    assert "no such image" in told


def test_image_without_kafka(world: Any) -> None:
    _until_there(world, "Pod", "t-preflight-write")
    world.stuck = {"t-preflight-write"}
    ended = {"terminated": {"exitCode": 2}}
    world.objects["Pod", "t-preflight-write"]["status"] = {
        "phase": "Failed",
        "initContainerStatuses": [{"image": "kafka:1", "state": ended}],
    }
    assert "/opt/kafka/libs" in _refused(world, "Provisioned", "KafkaImageUnusable")


def test_members_that_never_get_ready_name_what_holds_them(world: Any) -> None:
    world.stuck = {"t-kafka-1-0"}
    _until_there(world, "Pod", "t-kafka-1-0")
    unscheduled = {"type": "PodScheduled", "status": "False", "message": "Insufficient memory"}
    world.objects["Pod", "t-kafka-1-0"]["status"]["conditions"] = [unscheduled]
    told = _refused(world, "Provisioned", "ProvisioningTimedOut")
    assert "kafka-1" in told
    assert "Insufficient memory" in told


def test_broker_that_reports_another_rack(world: Any) -> None:
    _until_there(world, "ConfigMap", "t-kafka-1")
    files = world.objects["ConfigMap", "t-kafka-1"]["data"]
    files["server.properties"] = files["server.properties"].replace("=zone-b", "=elsewhere")
    assert "elsewhere" in _refused(world, "Provisioned", "RackNotReported")


def test_traffic_that_does_not_flow(world: Any) -> None:
    world.run(until="Warmup")
    world.stuck = {"t-producer-a-0"}
    told = _refused(world, "TrafficEstablished", "TrafficNotEstablished")
    assert "t-producer-a-0" in told


@pytest.mark.parametrize("left", ["t-kafka-0", "t-old"])
def test_waits_for_what_an_earlier_test_of_the_name_left(world: Any, left: str) -> None:
    labels = {"kafkaresilience.dev/test": "t", "kafkaresilience.dev/test-uid": "uid-before"}
    world.put({"kind": "Service", "metadata": {"name": left, "labels": labels}})
    assert world.run(seconds=20)["phase"] == "Pending"
    assert world.condition("Provisioned")["reason"] == "PreviousTestTerminating"
    del world.objects["Service", left]
    assert world.run()["phase"] == "Completed"


def crash(name: str, **fields: Any) -> dict[str, Any]:
    target = {"role": "Broker", "ordinals": [1]}
    return {"name": name, "action": "CrashPod", "target": target, "duration": "20s"} | fields


def test_a_zone_that_no_broker_is_in(make_world: Callable[..., Any]) -> None:
    world = make_world(faults=[crash("rack", target={"role": "Rack", "zone": "zone-x"})])
    told = _refused(world, "Provisioned", "NoSuchZone")
    assert told.startswith("spec.faults[rack].target.zone")


def test_two_faults_on_one_pod(make_world: Callable[..., Any]) -> None:
    world = make_world(faults=[crash("a"), crash("b", startsAfter={"event": "Started"})])
    told = _refused(world, "Provisioned", "FaultsCollide")
    assert "spec.faults[b] targets kafka-1 while a is open on it" in told
    assert world.names_of("ConfigMap") == set(), "nothing may be built before it is known to fit"
