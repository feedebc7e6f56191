"""Every object of the sample run, as it goes to the API server, against tests/golden.

A difference is either a mistake or a change somebody wanted: `KRT_GOLDEN=write pytest …` writes the
files anew, and the diff is what is reviewed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.operator.doubles.plans import sample_plan
from tests.unit.operator.doubles.world import WITH_POLICIES

from krt_contract.control import ControlState
from krt_operator import names
from krt_operator.build import (
    members,
    network_policies,
    scoring,
    shared,
    tools,
    traffic,
)
from krt_operator.plan.reference import ReferencedCluster

ROOT = Path(__file__).resolve().parents[4]
GOLDEN = ROOT / "tests" / "golden" / "operator"
PULL = "IfNotPresent"


def _kraft_objects() -> list[Any]:
    """What differs in KRaft mode."""
    plan = sample_plan(manifest="sample-kraft.yaml")
    return [
        shared.build_plan_map(plan),
        *shared.build_preflight_pods(plan, PULL),
        *members.build_members(plan, PULL),
        *members.build_budgets(plan),
        *network_policies.build_network_policies(plan, WITH_POLICIES),
    ]


def _secured(spec: Any) -> None:
    spec["kafkaRef"]["security"] = {
        "tls": {
            "trustedCertificateSecretRef": {"name": "kafka-ca"},
            "certificateSecretRef": {"name": "kafka-client"},
        },
        "sasl": {
            "mechanism": "SCRAM-SHA-512",
            "username": "alice",
            "secretRef": {"name": "kafka-user"},
        },
    }


def _deployed_secured(spec: Any) -> None:
    spec["kafka"]["security"] = {"tls": {}, "sasl": {"mechanism": "SCRAM-SHA-512"}}


def _secured_objects() -> list[Any]:
    """What differs in a secured cluster that the test deploys; its Secrets are never the same."""
    plan = sample_plan(_deployed_secured, "sample-kraft.yaml", name="secured")
    moves = {("foo", 0): (2, 1, 0)}
    by_zookeeper = sample_plan(_deployed_secured, name="secured-zk")
    return [
        shared.build_scripts_map(plan, PULL),
        traffic.build_recorder_pod(plan, PULL),
        *members.build_member(plan, plan.brokers[0], PULL),
        *members.build_member(plan, plan.controllers[0], PULL),
        tools.build_reassign_job(plan, names.fault_job(plan.name, 0, 1), moves, PULL),
        *members.build_member(by_zookeeper, by_zookeeper.brokers[0], PULL),
        *members.build_member(by_zookeeper, by_zookeeper.zookeepers[0], PULL),
    ]


def _referenced_objects() -> list[Any]:
    """What differs on a cluster that is there already, and wants a login."""
    racks = {1: "a", 2: "b", 3: "c"}
    reference = ReferencedCluster(racks, {"process.roles": "broker"}, frozenset(), frozenset())
    plan = sample_plan(_secured, "sample-kafka-ref.yaml", reference)
    producer = traffic.traffic_pods(plan)[0]
    return [
        shared.build_plan_map(plan),
        shared.build_scripts_map(plan, PULL),
        *shared.build_preflight_pods(plan, PULL),
        traffic.build_recorder_pod(plan, PULL),
        traffic.build_traffic_pod(plan, producer, PULL),
        scoring.build_scoring_job(plan, 1, PULL),
    ]


def _objects() -> dict[str, Any]:
    plan = sample_plan()
    built = [
        shared.build_plan_map(plan),
        shared.build_control_map(plan, ControlState.PRODUCE),
        shared.build_scripts_map(plan, PULL),
        *shared.build_service_accounts(plan, "ClusterRole", {}),
        shared.build_evidence_claim(plan, "krt-evidence"),
        *shared.build_preflight_pods(plan, PULL),
        traffic.build_recorder_pod(plan, PULL),
        *members.build_members(plan, PULL),
        *members.build_budgets(plan),
        *network_policies.build_network_policies(plan, WITH_POLICIES),
        *(traffic.build_traffic_pod(plan, one, PULL) for one in traffic.traffic_pods(plan)),
        scoring.build_scoring_job(plan, 1, PULL),
        tools.build_reassign_job(
            plan, names.fault_job(plan.name, 0, 1), {("foo", 0): (2, 1, 0)}, PULL
        ),
        tools.build_dump_job(plan, plan.brokers[1], PULL),
        *_kraft_objects(),
        *_referenced_objects(),
        *_secured_objects(),
    ]
    return {f"{one['kind'].lower()}-{one['metadata']['name']}.yaml": one for one in built}


OBJECTS = _objects()


def _text(obj: Any) -> str:
    return yaml.safe_dump(obj, sort_keys=True, width=100)


@pytest.mark.parametrize("name", sorted(OBJECTS))
def test_builder_object_matches_its_golden_file(name: str) -> None:
    path = GOLDEN / name
    if os.environ.get("KRT_GOLDEN") == "write":
        GOLDEN.mkdir(parents=True, exist_ok=True)
        path.write_text(_text(OBJECTS[name]))
    assert yaml.safe_load(path.read_text()) == OBJECTS[name]


def test_golden_files_without_object_do_not_exist() -> None:
    assert {one.name for one in GOLDEN.glob("*.yaml")} == set(OBJECTS)


def _pods() -> list[tuple[str, Any]]:
    found = []
    for name, obj in OBJECTS.items():
        if obj["kind"] == "Pod":
            found.append((name, obj))
        elif "template" in obj.get("spec", {}):
            found.append((name, obj["spec"]["template"]))
    data = OBJECTS["configmap-leader-crash-scripts.yaml"]["data"]
    return [*found, ("executor", yaml.safe_load(data["executor.yaml"]))]


@pytest.mark.parametrize(("name", "pod"), _pods(), ids=[name for name, _ in _pods()])
def test_pod_meets_the_restricted_standard(name: str, pod: Any) -> None:
    spec = pod["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        if name != "executor":
            assert container["resources"]["limits"]["memory"]
    talks = spec.get("serviceAccountName")
    assert spec["automountServiceAccountToken"] is (talks is not None)


def test_selectors_match_only_objects_of_the_run() -> None:
    uid = "00000000-0000-0000-0000-000000000001"
    for obj in OBJECTS.values():
        selector = obj.get("spec", {}).get("selector")
        if selector:
            labels = selector.get("matchLabels", selector)
            assert labels["kafkaresilience.dev/test-uid"] == uid


def test_plan_written_reads_back_equal() -> None:
    plan = sample_plan()
    again = type(plan).from_json(plan.to_json())
    assert again == plan
    assert again.to_json() == plan.to_json()
