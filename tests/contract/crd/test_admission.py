from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.contract.crd.cases import (
    CHANGED,
    OLD_NAMES,
    REFUSED,
    ROOT,
    Refused,
    manifest,
    sample,
)

from krt_cli.scenarios.catalogue import Modes, Scenario, in_modes, scenarios
from krt_operator.api.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.crd.conftest import ApiServer

MANIFESTS = ["sample.yaml", "sample-kraft.yaml", "sample-kafka-ref.yaml"] + [
    f"scenarios/{path.name}" for path in sorted((ROOT / "manifests/scenarios").glob("*.yaml"))
]
TURNED = [
    item
    for item in in_modes(scenarios(ROOT / "manifests/scenarios"), Modes.KRAFT, named=False)
    if item.turned
]
CRD_NAME = "kafkaresiliencetests.contract.kafkaresilience.dev"


def test_the_schema_is_structural_and_the_names_are_accepted(server: ApiServer) -> None:
    definition = server.run("get", "crd", CRD_NAME, "-o", "json").json()
    conditions = {one["type"]: one["status"] for one in definition["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_are_admitted(server: ApiServer, name: str) -> None:
    body = manifest(name)
    answer = server.admits(body["spec"], body["metadata"]["name"])
    assert answer.ok, answer.text


@pytest.mark.parametrize("scenario", TURNED, ids=lambda item: item.id)
def test_scenarios_in_kraft_mode_are_admitted(server: ApiServer, scenario: Scenario) -> None:
    body = yaml.safe_load(scenario.manifest())
    answer = server.admits(body["spec"], body["metadata"]["name"])
    assert answer.ok, answer.text


def test_defaults_of_the_api_server_are_those_of_the_models(server: ApiServer) -> None:
    least: Any = {
        "topics": [{"name": "foo", "replicationFactor": 1}],
        "traffic": {
            "producers": [{"name": "p", "topic": "foo"}],
            "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
        },
        "faults": [{"name": "f", "action": "CrashPod", "target": {"role": "Controller"}}],
    }
    answer = server.admits(least)
    assert answer.ok, answer.text
    assert answer.json()["spec"] == Spec.model_validate(least).dump()


ACTIONS: tuple[Any, ...] = (
    {"action": "FreezePod", "duration": "5s", "target": {"role": "Consumer", "name": "reader"}},
    {"action": "EvictPod", "gracePeriodSeconds": 5, "target": {"role": "ZooKeeperLeader"}},
    {"action": "LoseDisk", "target": {"role": "Rack", "topic": "foo", "partition": 0}},
    {"action": "RollingRestart", "target": {"role": "Broker"}},
    {
        "action": "Reassign",
        "target": {"role": "Partition", "topic": "foo", "partitions": [0, 2]},
        "targetReplicas": [2, 0, 1],
    },
    {"action": "ElectPreferredLeaders", "target": {"role": "Partition", "topic": "foo"}},
    {
        "action": "External",
        "duration": "30s",
        "target": {"role": "Partition", "topic": "foo"},
    },
)


def test_every_action_is_admitted_on_what_it_can_hit(server: ApiServer) -> None:
    spec = sample()
    spec["faults"] = [{"name": f"f{i}", **one} for i, one in enumerate(ACTIONS)]
    answer = server.admits(spec)
    assert answer.ok, answer.text


@pytest.mark.parametrize("acks", ["all", "1", "0", 1, 0])
def test_acks_may_be_a_word_or_a_number(server: ApiServer, acks: Any) -> None:
    spec = sample()
    spec["traffic"]["producers"][1].update(acks=acks)
    assert server.admits(spec).ok


def test_broker_of_a_referenced_cluster_may_have_any_id(server: ApiServer) -> None:
    spec = manifest("sample-kafka-ref.yaml")["spec"]
    spec["expect"] = {"inIsr": [{"broker": 0, "min": 1}, {"broker": 2**31 - 1, "max": 0}]}
    answer = server.admits(spec)
    assert answer.ok, answer.text


def test_topic_of_a_referenced_cluster_may_be_adopted_whatever_its_name(server: ApiServer) -> None:
    spec = manifest("sample-kafka-ref.yaml")["spec"]
    spec["topics"] = [{"name": "orders", "partitions": 3, "replicationFactor": 3, "adopt": True}]
    spec["traffic"]["producers"][0]["topic"] = "orders"
    spec["traffic"]["consumers"][0]["topics"] = ["orders"]
    answer = server.admits(spec)
    assert answer.ok, answer.text


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused_with_the_element_named(server: ApiServer, case: Refused) -> None:
    spec = sample()
    case.change(spec)
    answer = server.admits(spec)
    assert not answer.ok, answer.text
    for part in case.says:
        assert part in answer.text, answer.text


@pytest.mark.parametrize("case", OLD_NAMES, ids=lambda case: case.name)
def test_admission_of_an_old_field_name_is_refused_in_one_line_with_the_new_name(
    server: ApiServer, case: Refused
) -> None:
    spec = sample()
    case.change(spec)
    answer = server.admits(spec)
    assert not answer.ok, answer.text
    (line,) = answer.text.strip().splitlines()
    for part in case.says:
        assert part in line


@pytest.mark.parametrize("name", ["a" * 31, "1st", "with.dot"])
def test_a_name_that_nothing_can_be_named_after(server: ApiServer, name: str) -> None:
    answer = server.admits(sample(), name)
    assert not answer.ok
    assert "metadata.name must be at most 30 characters" in answer.text


def test_an_unknown_field_is_named(server: ApiServer) -> None:
    spec = {**sample(), "warmUp": "10s"}
    answer = server.admits(spec)
    assert not answer.ok
    assert 'unknown field "spec.warmUp"' in answer.text


@pytest.fixture(scope="module")
def created(server: ApiServer) -> Iterator[str]:
    answer = server.run("create", "-f", "-", body=server.test("created", sample()))
    assert answer.ok, answer.text
    yield f"{CRD_NAME.replace('kafkaresiliencetests', 'kafkaresiliencetest')}/created"
    server.run("delete", f"{CRD_NAME}/created", "--wait=false")


@pytest.mark.parametrize(("child", "patch"), CHANGED, ids=[child for child, _ in CHANGED])
def test_no_child_of_spec_may_change(
    server: ApiServer, created: str, child: str, patch: dict[str, Any]
) -> None:
    answer = server.run(
        "patch", created, "--type=merge", "--dry-run=server", "-p", json.dumps({"spec": patch})
    )
    assert not answer.ok, answer.text
    assert f"spec.{child} cannot" in answer.text, answer.text


def test_the_order_of_faults_may_not_change(server: ApiServer) -> None:
    spec = sample()
    spec["faults"].append(
        {"name": "second", "action": "CrashPod", "target": {"role": "Controller"}}
    )
    assert server.run("create", "-f", "-", body=server.test("ordered", spec)).ok
    patch = {"spec": {"faults": spec["faults"][::-1]}}
    answer = server.run(
        *("patch", f"{CRD_NAME}/ordered", "--type=merge", "--dry-run=server"),
        *("-p", json.dumps(patch)),
    )
    assert "the order of spec.faults cannot change" in answer.text
    server.run("delete", f"{CRD_NAME}/ordered", "--wait=false")


def test_abort_can_be_set_once(server: ApiServer) -> None:
    assert server.run("create", "-f", "-", body=server.test("aborted", sample())).ok
    for abort, ok in ((True, True), (True, True), (False, False)):
        answer = server.run(
            *("patch", f"{CRD_NAME}/aborted", "--type=merge"),
            *("-p", json.dumps({"spec": {"abort": abort}})),
        )
        assert answer.ok is ok, answer.text
    assert "spec.abort cannot be taken back" in answer.text
    server.run("delete", f"{CRD_NAME}/aborted", "--wait=false")
