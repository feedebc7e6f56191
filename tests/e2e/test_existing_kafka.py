"""Tests of a Kafka cluster that the product did not deploy, and of what they leave behind there."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from kit.existing_kafka import (
    PASSWORD,
    USER,
    ExistingKafka,
    grant_pods,
    grant_secrets,
    kafka_image,
)
from kit.run import Run, manifest
from kit.wait import wait_until

if TYPE_CHECKING:
    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e

OTHER = "payments"
"""A topic of the cluster that is not the test's."""


@pytest.fixture(scope="module")
def cluster(controller: Controller, module_kubectl: Kubectl) -> ExistingKafka:
    kafka = ExistingKafka.deploy(module_kubectl, kafka_image(controller.kubectl))
    kafka.create_topic(OTHER)
    return kafka


PODS = {
    "selector": {"matchLabels": {"strimzi.io/cluster": "my-cluster", "strimzi.io/kind": "Kafka"}}
}
LEADER = {"role": "PartitionLeader", "topic": "krt-foo", "partition": 0}


def sample(cluster: ExistingKafka, name: str = "consumer-crash") -> dict[str, Any]:
    resource = manifest("manifests/sample-kafka-ref.yaml", name)
    resource["spec"]["kafkaRef"]["bootstrapServers"] = [cluster.bootstrap]
    return resource


def with_topic(resource: dict[str, Any], topic: str) -> dict[str, Any]:
    """Return a sample whose producer and consumer have another topic."""
    resource["spec"]["topics"][0]["name"] = topic
    resource["spec"]["traffic"]["producers"][0]["topic"] = topic
    resource["spec"]["traffic"]["consumers"][0]["topics"] = [topic]
    return resource


def restarts(pod: dict[str, Any]) -> int:
    """How often the container of a broker was started again."""
    (container,) = pod["status"]["containerStatuses"]
    return int(container["restartCount"])


def seconds_between(begin: str, end: str) -> float:
    """The seconds between two times of a status."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


@pytest.fixture(scope="module")
def run(cluster: ExistingKafka, controller: Controller, module_kubectl: Kubectl) -> Run:
    """A consumer crashes; then the owner of the cluster restarts a broker.

    All clients log in by TLS and SCRAM, as a user that has the rights of the guide and no others.
    """
    grant_secrets(controller.kubectl, module_kubectl)
    resource = sample(cluster)
    resource["spec"]["kafkaRef"] = cluster.secured()
    crash, _ = resource["spec"]["faults"]
    external = {
        "name": "broker-gone",
        "delay": "2s",
        "action": "External",
        "target": {"role": "Partition", "topic": "krt-foo"},
        "duration": "30s",
    }
    resource["spec"]["faults"] = [crash, external]
    started = Run.apply(module_kubectl, resource)
    open_fault = "--for=jsonpath={.status.activeFaults}=broker-gone"
    module_kubectl("wait", f"krt/{started.name}", open_fault, "--timeout=300s", timeout=310)
    cluster.kubectl("delete", "pod", "my-cluster-kafka-1", "--wait=false")
    started.finish()
    return started


def test_existing_cluster_passes_with_faults_on_its_clients_and_by_its_owner(run: Run) -> None:
    status = run.status
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    crash, external = status["faults"]
    assert (crash["verified"], external["verified"]) == (True, True)
    assert {seen["kind"] for seen in external["observations"]} == {"IsrShrank"}
    assert external["recoveredAt"] > external["revertedAt"]


def test_existing_cluster_run_json_names_the_source_and_what_brokers_reported(run: Run) -> None:
    document = json.loads((run.bundle / "run.json").read_text("utf-8"))
    assert document["history"] == {"source": "polling", "strength": "Observed"}
    assert document["metadata"]["mode"] == "KRaft"
    assert document["members"] == []
    assert document["brokerConfig"]["min.insync.replicas"] == "2"
    assert "advertised.listeners" not in document["brokerConfig"]


def test_existing_cluster_history_has_leaders_and_isr(run: Run) -> None:
    states = [event for event in run.timeline("partition") if event["event"] == "state"]
    led = {event["subject"] for event in states if event["detail"]["leader"] >= 0}
    assert {f"krt-foo-{number}" for number in range(3)} <= led
    in_sync = [event for event in states if event["subject"].startswith("krt-foo")]
    assert {tuple(sorted(event["detail"]["isr"])) for event in in_sync} >= {(0, 1, 2), (0, 2)}


@pytest.mark.usefixtures("run")
def test_existing_cluster_is_left_as_it_was(cluster: ExistingKafka) -> None:
    assert cluster.topics() == {OTHER}
    assert cluster.groups() == set()
    assert cluster.end_offset(OTHER) == 0


def test_existing_cluster_password_is_in_no_object_log_or_evidence(
    run: Run, controller: Controller
) -> None:
    kinds = "krt,pods,jobs,configmaps,events"
    texts = {kinds: run.kubectl("get", kinds, "-o", "json")}
    for pod in run.kubectl.items("pods", "-l", "app.kubernetes.io/part-of=kafka-resilience"):
        name = pod["metadata"]["name"]
        texts[name] = run.kubectl("logs", name, "--all-containers")
    pod = controller.running()["metadata"]["name"]
    texts[pod] = controller.kubectl("logs", pod)
    for path in run.bundle.rglob("*"):
        if path.is_file():
            texts[str(path)] = path.read_bytes().decode("utf-8", "replace")
    encoded = base64.b64encode(PASSWORD.encode()).decode()
    assert [name for name, text in texts.items() if PASSWORD in text or encoded in text] == []
    assert run.kubectl.get("secret", USER)["data"]["password"] == encoded


def test_existing_topic_is_refused_and_kept(cluster: ExistingKafka, kubectl: Kubectl) -> None:
    cluster.create_topic("krt-taken")
    refused = Run.apply(kubectl, with_topic(sample(cluster, "taken"), "krt-taken"))
    assert refused.finish(60)["phase"] == "Error"
    condition = refused.condition("Provisioned")
    assert condition["reason"] == "TopicExists"
    assert "topic krt-taken exists" in condition["message"]
    assert "krt-taken" in cluster.topics()


@pytest.mark.long
def test_existing_topic_is_adopted_with_its_records_and_kept(
    cluster: ExistingKafka, kubectl: Kubectl
) -> None:
    cluster.create_topic("orders", partitions=3, retention_ms="604800000")
    cluster.write("orders", 300)
    resource = sample(cluster, "adopted")
    spec = resource["spec"]
    spec["topics"] = [{"name": "orders", "partitions": 3, "replicationFactor": 3, "adopt": True}]
    spec["traffic"]["producers"][0]["topic"] = "orders"
    spec["traffic"]["consumers"][0] |= {"topics": ["orders"], "group": "krt-adopters"}
    spec["faults"] = spec["faults"][:1]
    adopted = Run.apply(kubectl, resource)
    status = adopted.finish()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert status["inconclusiveReasons"] == []
    (topic,) = json.loads((adopted.bundle / "run.json").read_text("utf-8"))["topics"]
    assert sum(topic["begin"].values()) == 300
    assert adopted.scorecard()["ledger"]["foreign"] == 0
    assert "orders" in cluster.topics()
    assert "krt-adopters" not in cluster.groups()
    # Nothing was cut off the topic, and the records of the test were appended to it.
    assert cluster.start_offset("orders") == 0
    assert cluster.end_offset("orders") >= 300 + adopted.scorecard()["ledger"]["acked"]


@pytest.mark.long
def test_user_that_is_not_there_is_refused_before_anything_is_built(
    cluster: ExistingKafka, controller: Controller, module_kubectl: Kubectl
) -> None:
    grant_secrets(controller.kubectl, module_kubectl)
    resource = sample(cluster, "refused")
    resource["spec"]["kafkaRef"] = cluster.secured()
    resource["spec"]["kafkaRef"]["security"]["sasl"]["username"] = "nobody"
    refused = Run.apply(module_kubectl, resource)
    assert refused.finish(120)["phase"] == "Error"
    condition = refused.condition("Provisioned")
    assert condition["reason"] == "KafkaAuthenticationFailed"
    assert "as user nobody" in condition["message"]
    assert refused.remaining() == []


@pytest.mark.long
def test_bootstrap_that_does_not_answer_is_reported(
    cluster: ExistingKafka, kubectl: Kubectl
) -> None:
    resource = sample(cluster, "unreachable")
    resource["spec"]["kafkaRef"]["bootstrapServers"] = [
        cluster.bootstrap.replace("bootstrap", "brokers").replace("9092", "9999")
    ]
    refused = Run.apply(kubectl, resource)
    assert refused.finish(120)["phase"] == "Error"
    condition = refused.condition("Provisioned")
    assert condition["reason"] == "KafkaUnreachable"
    assert "spec.kafkaRef.bootstrapServers" in condition["message"]


@pytest.mark.long
def test_test_deleted_in_mid_run_leaves_no_topic(cluster: ExistingKafka, kubectl: Kubectl) -> None:
    resource = with_topic(sample(cluster, "deleted"), "krt-deleted")
    resource["spec"]["traffic"]["consumers"][0]["group"] = "krt-gone"
    deleted = Run.apply(kubectl, resource)
    deleted.reach("Injecting")
    assert "krt-deleted" in cluster.topics()
    kubectl("delete", "krt", deleted.name, "--wait", "--timeout=120s", timeout=130)
    assert "krt-deleted" not in cluster.topics()
    assert "krt-gone" not in cluster.groups()
    assert deleted.remaining() == []


@pytest.mark.long
def test_test_deleted_while_the_cluster_does_not_answer_says_what_stays(
    cluster: ExistingKafka, kubectl: Kubectl
) -> None:
    resource = with_topic(sample(cluster, "unanswered"), "krt-stays")
    resource["spec"]["traffic"]["consumers"][0]["group"] = "krt-stay"
    deleted = Run.apply(kubectl, resource)
    deleted.reach("Injecting")
    selected = f"involvedObject.name={deleted.name},reason=KafkaObjectsRemain"
    with cluster.unreachable():
        kubectl("delete", "krt", deleted.name, "--wait=false")
        events = wait_until(
            lambda: kubectl.items("events", "--field-selector", selected), 60, "an event"
        )
        kubectl("wait", "--for=delete", f"krt/{deleted.name}", "--timeout=180s", timeout=190)
    assert "prefix of the test" in events[0]["message"]
    assert "krt-stays" in cluster.topics()


@pytest.mark.long
def test_delete_pod_of_the_leader_hits_the_brokers_own_pod_and_passes(
    cluster: ExistingKafka, controller: Controller, module_kubectl: Kubectl
) -> None:
    grant_pods(controller.kubectl, module_kubectl)
    resource = sample(cluster, "leader-gone")
    resource["spec"]["kafkaRef"]["pods"] = PODS
    resource["spec"]["faults"] = [
        {"name": "leader-gone", "delay": "5s", "action": "DeletePod", "target": LEADER}
    ]
    deleted = Run.apply(module_kubectl, resource)
    status = deleted.finish()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    (entry,) = status["faults"]
    (target,) = entry["targets"]
    assert target["pod"] == f"my-cluster-{target['member']}"
    assert entry["verified"]
    assert {"PodDeleted", "LeaderMoved"} <= {seen["kind"] for seen in entry["observations"]}
    pod = module_kubectl.get("pod", target["pod"])
    assert pod["metadata"]["uid"] != target["uid"]


@pytest.mark.long
def test_crash_and_freeze_of_a_broker_hit_its_process_and_keep_its_pod(
    cluster: ExistingKafka, controller: Controller, module_kubectl: Kubectl
) -> None:
    grant_pods(controller.kubectl, module_kubectl)
    resource = sample(cluster, "broker-signalled")
    resource["spec"]["kafkaRef"]["pods"] = PODS
    resource["spec"]["faults"] = [
        {"name": "leader-crashed", "delay": "5s", "action": "CrashPod", "target": LEADER},
        {
            "name": "leader-frozen",
            "startsAfter": {"fault": "leader-crashed", "event": "Recovered"},
            "action": "FreezePod",
            "target": LEADER,
            "duration": "20s",
        },
    ]
    # A frozen leader keeps its connections: what was sent to it waits until the thaw.
    resource["spec"]["scoring"] = {"objectives": {"maxWriteUnavailability": "30s"}}
    before = {name: module_kubectl.get("pod", name) for name in cluster.pods()}
    signalled = Run.apply(module_kubectl, resource)
    status = signalled.finish()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    crash, freeze = status["faults"]
    for entry, kind in ((crash, "ProcessKilled"), (freeze, "ProcessStopped")):
        (target,) = entry["targets"]
        assert target["uid"] == before[target["pod"]]["metadata"]["uid"]
        assert entry["verified"]
        assert kind in {seen["kind"] for seen in entry["observations"]}
        assert entry["recoveredAt"] > entry["revertedAt"]
    # It lasts for two sessions; a crashed broker may be back before anybody asks.
    assert "LeaderMoved" in {seen["kind"] for seen in freeze["observations"]}
    after = {name: module_kubectl.get("pod", name) for name in before}
    crashed = crash["targets"][0]["pod"]
    # The crash alone restarts a container: a frozen process goes on where it was.
    assert {name for name in before if restarts(after[name]) > restarts(before[name])} == {crashed}
    frozen = seconds_between(freeze["injectedAt"], freeze["revertedAt"])
    assert 19.9 <= frozen <= 21.0


@pytest.mark.long
def test_pods_without_consent_are_refused_before_anything_is_built(
    cluster: ExistingKafka, kubectl: Kubectl
) -> None:
    resource = sample(cluster, "forbidden")
    labels = {"strimzi.io/cluster": "my-cluster"}
    # The namespace of this test, which has no Role, and no pods either.
    resource["spec"]["kafkaRef"]["pods"] = {"selector": {"matchLabels": labels}}
    resource["spec"]["faults"] = [
        {"name": "gone", "action": "DeletePod", "target": {"role": "Broker", "ordinals": [0]}}
    ]
    refused = Run.apply(kubectl, resource)
    assert refused.finish(120)["phase"] == "Error"
    condition = refused.condition("Provisioned")
    assert condition["reason"] == "BrokerPodsForbidden"
    assert "fault brokerpods.kafkaresilience.dev" in condition["message"]
    assert refused.remaining() == []
