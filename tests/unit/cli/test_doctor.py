"""Checks of a cluster: what blocks a test, what may, and what to do."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from krt_cli.doctor.access import images
from krt_cli.doctor.finding import Level
from krt_cli.doctor.install import controller, crd, kubernetes
from krt_cli.doctor.nodes import nodes
from krt_cli.doctor.storage import evidence, place
from krt_cli.errors import ExitCode
from krt_cli.installation import Controller
from krt_cli.kubectl import Kubectl
from krt_cli.main import run
from krt_contract.nodes import nodes_by_zone, usable
from krt_operator.api.spec import PodTemplate

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.fake_kubectl import FakeKubectl

OK, WARNING, BLOCKER = Level.OK, Level.WARNING, Level.BLOCKER
ZONE = "topology.kubernetes.io/zone"
MANIFEST = """
apiVersion: kafkaresilience.dev/v1alpha1
kind: KafkaResilienceTest
metadata: {name: sample}
spec: {kafka: {replicas: 3}, topics: [{name: foo, replicationFactor: 3}]}
"""


def node(zone: str | None, *, ready: bool = True, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"labels": {ZONE: zone} if zone else {}},
        "spec": spec,
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
SIX = [node(zone) for zone in ("a", "b", "c", "a", "b", "c")]


def strained(name: str, zone: str) -> dict[str, Any]:
    """Return a node without disk and process ids, before it gets the taints."""
    found = node(zone)
    found["metadata"]["name"] = name
    lacks = [{"type": kind, "status": "True"} for kind in ("DiskPressure", "PIDPressure")]
    found["status"]["conditions"] += lacks
    return found


def deployment(*, ready: int = 1, **environment: str) -> dict[str, Any]:
    variables = {
        "KRT_EVIDENCE_STORAGE_CLASS": "shared",
        "KRT_IMAGE_TRAFFIC": "registry.example.com/traffic:1",
        "KRT_IMAGE_PULL_POLICY": "Always",
        "KRT_IMAGE_PULL_SECRETS": "",
    } | environment
    container = {
        "image": "registry.example.com/operator:1",
        "env": [{"name": name, "value": value} for name, value in variables.items()],
    }
    return {
        "metadata": {
            "namespace": "krt-system",
            "name": "krt",
            "labels": {"app.kubernetes.io/version": "0.1.0"},
        },
        "spec": {"template": {"spec": {"containers": [container]}}},
        "status": {"readyReplicas": ready},
    }


def healthy(kubectl: FakeKubectl) -> None:
    def answer(words: str, value: object) -> None:
        kubectl.answers(words, value if isinstance(value, str) else json.dumps(value), always=True)

    answer("version", {"serverVersion": {"gitVersion": "v1.34.2"}})
    answer("get --raw", {"resources": [{"name": "kafkaresiliencetests"}]})
    answer("get deployments", {"items": [deployment()]})
    answer("get crd", {"metadata": {"labels": {"app.kubernetes.io/version": "0.1.0"}}})
    there = [{"names": [f"registry.example.com/{name}:1"]} for name in ("operator", "traffic")]
    body = [one | {"status": one["status"] | {"images": there}} for one in SIX]
    answer("get nodes", {"items": body})
    answer("get pvc", "")
    answer("get storageclass", {"provisioner": "nfs.csi.k8s.io"})
    answer("auth can-i", "yes")
    answer("get pods", {"items": []})
    answer("apply --dry-run=server", "created (server dry run)")
    answer("config view", "")


def test_doctor_of_a_healthy_cluster_is_ready(
    kubectl: FakeKubectl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    healthy(kubectl)
    file = tmp_path / "test.yaml"
    file.write_text(MANIFEST)
    assert run(["doctor", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"ready; next: krt run {file}"
    assert all(line.startswith("ok ") for line in lines[:-2])
    assert all("create" not in call.split() or "can-i" in call for call in kubectl.calls())


def test_doctor_of_an_empty_cluster_names_every_blocker_with_its_remedy(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("version", json.dumps({"serverVersion": {"gitVersion": "v1.29.1"}}))
    kubectl.answers("get --raw", code=1, stderr="not found")
    kubectl.answers("get deployments", json.dumps({"items": []}))
    kubectl.answers("get nodes", json.dumps({"items": [node(None)]}))
    kubectl.answers("get pvc", "")
    kubectl.answers("auth can-i", "no", code=1, always=True)
    kubectl.answers("config view", "")
    assert run(["doctor", "-o", "json"]) == ExitCode.COULD_NOT_RUN
    document = json.loads(capsys.readouterr().out)
    assert document["ready"] is False
    levels = {item["check"]: item["level"] for item in document["findings"]}
    assert [name for name, level in levels.items() if level == "blocker"] == [
        "Kubernetes",
        "CRD",
        "controller",
        "nodes",
    ]
    assert all(item["remedy"] for item in document["findings"] if item["level"] != "ok")


def test_doctor_without_an_api_server_could_not_run(
    kubectl: FakeKubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.answers("version", code=1, stderr="connection refused")
    assert run(["doctor"]) == ExitCode.COULD_NOT_RUN
    assert "connection refused" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "level"),
    [("v1.30.0", OK), ("v1.34.2+k3s1", OK), ("v1.29.9", BLOCKER), ("odd", WARNING)],
)
def test_kubernetes_version_below_the_charts_is_a_blocker(
    kubectl: FakeKubectl, version: str, level: Level
) -> None:
    kubectl.answers("version", json.dumps({"serverVersion": {"gitVersion": version}}))
    assert kubernetes(Kubectl()).level is level


def test_crd_that_is_not_served_is_a_blocker(kubectl: FakeKubectl) -> None:
    kubectl.answers("get --raw", json.dumps({"resources": []}))
    assert crd(Kubectl()).level is BLOCKER


@pytest.mark.parametrize(
    ("found", "namespace", "levels"),
    [
        (None, "ns", [WARNING]),
        ([], "ns", [BLOCKER]),
        ([deployment(ready=0)], "ns", [BLOCKER]),
        ([deployment()], "ns", [OK]),
        ([deployment(), deployment()], "ns", [WARNING, OK]),
        ([deployment(KRT_WATCH_NAMESPACES="one,two")], "ns", [OK, BLOCKER]),
        ([deployment(KRT_WATCH_NAMESPACES="one,ns")], "ns", [OK]),
    ],
)
def test_controller_missing_or_not_ready_or_of_other_namespaces_is_a_blocker(
    kubectl: FakeKubectl,
    found: list[dict[str, Any]] | None,
    namespace: str,
    levels: list[Level],
) -> None:
    kubectl.answers("get crd", code=1)
    there = None if found is None else [Controller(body) for body in found]
    assert [item.level for item in controller(Kubectl(), there, namespace)] == levels


def test_controller_and_crd_of_two_versions_are_a_blocker(kubectl: FakeKubectl) -> None:
    kubectl.answers(
        "get crd", json.dumps({"metadata": {"labels": {"app.kubernetes.io/version": "0.0.9"}}})
    )
    *_, last = controller(Kubectl(), [Controller(deployment())], "ns")
    assert (last.level, "0.0.9" in last.message) == (BLOCKER, True)


STRAINED = [node("a"), node("a"), node("b"), strained("b2", "b"), node("c"), node("c")]
"""Nodes of which one is under pressure."""

KRAFT = {"kafka": {"metadata": {"mode": "KRaft"}}}


@pytest.mark.parametrize(
    ("listed", "spec", "level", "words"),
    [
        (SIX, {}, OK, "a 2, b 2, c 2"),
        (SIX[:5], {}, BLOCKER, "2 are left beside the 3 brokers"),
        (SIX[:5], {"placement": {"separateZooKeeper": "Preferred"}}, OK, "fit"),
        (SIX[:3], {"zookeeper": {"replicas": 5}, "placement": {"separateZooKeeper": "Ignored"}},
         BLOCKER, "and there are 3"),
        (SIX[:5], KRAFT, BLOCKER, "3 KRaft controllers need a node each, and 2 are left beside"),
        (SIX[:5], KRAFT | {"placement": {"separateZooKeeper": "Ignored"}}, BLOCKER, "2 are left"),
        (SIX[:5], KRAFT | {"placement": {"separateControllers": "Ignored"}}, OK, "controllers fit"),
        (SIX[:4], {"kafka": {"metadata": {"mode": "KRaft", "controllers": {"replicas": 1}}}}, OK,
         "3 brokers and 1 KRaft controllers fit"),
        (SIX[:2], {}, BLOCKER, "3 replicas of a partition need as many zones"),
        (SIX, {"kafka": {"replicas": 7}}, BLOCKER, "zone a needs 3 nodes"),
        ([], {}, BLOCKER, "none"),
        (STRAINED, {}, WARNING, "b2 (DiskPressure, PIDPressure)"),
        ([*STRAINED, *SIX], {}, OK, "a 4, b 3, c 4"),
        (STRAINED[:5], {}, BLOCKER, "left beside"),
        ([node("a", taints=[TAINT])] * 6, {"topics": []}, BLOCKER, "none"),
        (
            [node("a", taints=[TAINT])] * 6,
            {"topics": [], "podTemplate": {"tolerations": [{"operator": "Exists"}]}},
            OK,
            "a 6",
        ),
    ],
)  # fmt: skip
def test_nodes_for_a_test_are_counted_as_the_controller_places_them(
    kubectl: FakeKubectl, listed: list[Any], spec: dict[str, Any], level: Level, words: str
) -> None:
    kubectl.answers("get nodes", json.dumps({"items": listed}))
    found = nodes(Kubectl(), spec)
    assert (found.level, words in found.message) == (level, True), found


TEMPLATES: list[dict[str, Any]] = [
    {},
    {"nodeSelector": {ZONE: "a"}},
    {"tolerations": [{"key": "dedicated", "operator": "Exists"}]},
    {"tolerations": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]},
    {"tolerations": [{"key": "dedicated", "value": "web"}]},
]
NODES = [
    node("a"),
    node("b", ready=False),
    node("c", unschedulable=True),
    node("a", taints=[TAINT]),
    node("b", taints=[TAINT | {"effect": "PreferNoSchedule"}]),
    node(None),
]


@pytest.mark.parametrize(("one", "template"), list(itertools.product(NODES, TEMPLATES)))
def test_node_is_usable_exactly_if_the_controller_finds_it_usable(
    one: dict[str, Any], template: dict[str, Any]
) -> None:
    theirs = usable(one, PodTemplate.model_validate(template).dump())
    labelled = one["metadata"]["labels"].get(ZONE) is not None
    assert bool(nodes_by_zone([one], ZONE, (), template)) == (theirs and labelled)


@pytest.mark.parametrize(
    ("claim", "storage_class", "level"),
    [
        ({"spec": {"accessModes": ["ReadWriteMany"]}, "status": {"phase": "Bound"}}, None, OK),
        ({"spec": {"accessModes": ["ReadWriteOnce"]}}, None, BLOCKER),
        ({"spec": {"accessModes": ["ReadWriteMany"]}, "status": {"phase": "Lost"}}, None, BLOCKER),
        ({"spec": {"accessModes": ["ReadWriteMany"]}}, None, WARNING),
        (None, None, BLOCKER),
        (None, {"provisioner": "efs.csi.aws.com"}, OK),
        (None, {"provisioner": "ebs.csi.aws.com"}, BLOCKER),
        (None, {"provisioner": "someone.example.com"}, WARNING),
    ],
)
def test_evidence_claim_and_class_that_cannot_be_shared_are_blockers(
    kubectl: FakeKubectl,
    claim: dict[str, Any] | None,
    storage_class: dict[str, Any] | None,
    level: Level,
) -> None:
    kubectl.answers("get pvc", json.dumps(claim) if claim else "")
    kubectl.answers("get storageclass", json.dumps(storage_class) if storage_class else "")
    found = evidence(Kubectl(), "krt-evidence", "shared")
    assert found.level is level
    assert bool(found.remedy) == (level is not OK)


STORE = {"KRT_STORE_BUCKET": "evidence", "KRT_STORE_ENDPOINT": "http://store.krt-system.svc:9000"}
OWN = {"bucket": "ours", "credentials": {"secretName": "keys"}}
TRUSTED = {"bucket": "ours", "ca": {"secretName": "minio-ca"}}
BUNDLED = {"bucket": "ours", "ca": {"configMapName": "bundle"}}


@pytest.mark.parametrize(
    ("asked", "settings", "level", "says"),
    [
        ({"objectStore": {}}, STORE, OK, "bucket evidence at http://store.krt-system.svc:9000"),
        ({}, {**STORE, "KRT_EVIDENCE_DEFAULT": "objectStore"}, OK, "object store of the chart"),
        ({"objectStore": {}}, {"KRT_EVIDENCE_DEFAULT": "claim"}, BLOCKER, "the chart has none"),
        ({"objectStore": {}}, {}, WARNING, "not known"),
        ({}, {}, WARNING, "default is not known"),
        ({"objectStore": OWN}, STORE, BLOCKER, "no Secret keys"),
        ({"objectStore": TRUSTED}, STORE, BLOCKER, "no Secret minio-ca"),
        ({"objectStore": BUNDLED}, STORE, OK, "bucket ours at AWS"),
    ],
)
def test_evidence_in_an_object_store_is_checked_as_far_as_it_is_known(
    kubectl: FakeKubectl,
    asked: dict[str, Any],
    settings: dict[str, str],
    level: Level,
    says: str,
) -> None:
    kubectl.answers("get secret keys", "")
    kubectl.answers("get secret minio-ca", "")
    kubectl.answers("get configmap bundle", "configmap/bundle")
    found = place(Kubectl(), asked, settings)
    assert (found.level, says in found.message) == (level, True), found
    assert bool(found.remedy) == (level is not OK)


def test_evidence_in_a_bucket_whose_secret_is_there_is_left_to_the_preflight(
    kubectl: FakeKubectl,
) -> None:
    kubectl.answers("get secret keys", "secret/keys")
    found = place(Kubectl(), {"objectStore": OWN}, {})
    assert (found.level, found.message[:19]) == (OK, "bucket ours at AWS;")


def test_evidence_of_a_claim_named_in_the_test_is_checked_as_a_claim(kubectl: FakeKubectl) -> None:
    kubectl.answers("get pvc mine", "")
    kubectl.answers("get storageclass", json.dumps({"provisioner": "nfs.csi.k8s.io"}))
    settings = {"KRT_EVIDENCE_DEFAULT": "objectStore", "KRT_EVIDENCE_STORAGE_CLASS": "shared"}
    assert "claim mine" in place(Kubectl(), {"claimName": "mine"}, settings).message


def test_images_of_a_pod_that_cannot_pull_or_without_registry_are_blockers(
    kubectl: FakeKubectl,
) -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "unauthorized"}}
    status = {"image": "registry.example.com/traffic:1", "state": waiting}
    kubectl.answers(
        "get pods", json.dumps({"items": [{"status": {"containerStatuses": [status]}}]})
    )
    kubectl.answers("get nodes", json.dumps({"items": [node("a")]}))
    body = deployment(KRT_IMAGE_SCORING="kafka-resilience/scoring:0.1.0", KRT_IMAGE_KAFKA="k:1")
    found = {item.check: item for item in images(Kubectl(), Controller(body))}
    assert {check: item.level for check, item in found.items()} == {
        "image kafka": WARNING,
        "image operator": OK,
        "image scoring": BLOCKER,
        "image traffic": BLOCKER,
    }
    assert "unauthorized" in found["image traffic"].message
    assert "make images PUSH=" in found["image scoring"].remedy


def test_nodes_for_a_test_of_a_cluster_that_is_there_need_no_zones() -> None:
    found = nodes(Kubectl(), {"kafkaRef": {"bootstrapServers": ["kafka:9092"]}})
    assert found.level is OK
    assert "spec.kafkaRef" in found.message


@pytest.mark.parametrize(
    ("kafka", "ready", "level"),
    [
        ("registry.example.com/team/kafka:1", 1, OK),
        ("registry.example.com/team/kafka:1", 0, WARNING),
        ("docker.io/apache/kafka:3.9.1", 1, WARNING),
        ("apache/kafka:3.9.1", 1, WARNING),
    ],
)
def test_image_on_no_node_is_ok_where_the_controllers_came_from_the_same_registry(
    kubectl: FakeKubectl, kafka: str, ready: int, level: Level
) -> None:
    kubectl.answers("get pods", json.dumps({"items": []}))
    kubectl.answers("get nodes", json.dumps({"items": [node("a")]}))
    body = deployment(ready=ready, KRT_IMAGE_KAFKA=kafka)
    found = {item.check: item for item in images(Kubectl(), Controller(body))}
    assert found["image kafka"].level is level
    assert "is on no node yet" in found["image kafka"].message
