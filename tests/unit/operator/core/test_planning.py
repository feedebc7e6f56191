"""What the members are told beyond what the resource says."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.operator.doubles.plans import sample_plan

from krt_contract.members import MemberKind
from krt_contract.metadata import MetadataMode
from krt_operator.api.spec import Spec
from krt_operator.plan.cluster_id import cluster_id
from krt_operator.plan.member_config import zookeeper_config
from krt_operator.plan.planning import with_pull_secrets

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan


@pytest.mark.parametrize(
    ("asked", "own", "bounds"),
    [
        (None, {}, {}),
        ("4000", {}, {}),
        ("40000", {}, {}),
        ("60000", {}, {"maxSessionTimeout": "60000"}),
        ("2000", {}, {"minSessionTimeout": "2000"}),
        ("2000", {"tickTime": "1000"}, {}),
        ("30000", {"tickTime": "1000"}, {"maxSessionTimeout": "30000"}),
        (None, {"tickTime": "500"}, {"maxSessionTimeout": "18000"}),
        ("60000", {"maxSessionTimeout": "50000"}, {"maxSessionTimeout": "50000"}),
    ],
)
def test_zookeeper_config_includes_the_requested_session_timeout(
    asked: str | None, own: dict[str, str], bounds: dict[str, str]
) -> None:
    """ZooKeeper grants 2 to 20 ticks and tells nobody, unless it is told otherwise."""
    spec = Spec.model_validate(
        {
            "kafka": {
                "replicas": 1,
                "config": {} if asked is None else {"zookeeper.session.timeout.ms": asked},
            },
            "zookeeper": {"replicas": 1, "config": own},
            "topics": [{"name": "foo", "replicationFactor": 1}],
            "traffic": {
                "producers": [{"name": "a", "topic": "foo"}],
                "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
            },
        }
    )
    found = zookeeper_config(spec)
    assert {name: value for name, value in found.items() if "SessionTimeout" in name} == bounds


@pytest.mark.parametrize(
    ("own", "installation", "expected"),
    [((), (), []), ((), ("one", "two"), ["one", "two"]), (("mine",), ("one",), ["mine"])],
)
def test_with_pull_secrets_uses_those_of_the_installation_where_the_spec_has_none(
    own: tuple[str, ...], installation: tuple[str, ...], expected: list[str]
) -> None:
    template = {"imagePullSecrets": [{"name": name} for name in own]}
    spec = Spec.model_validate(
        {
            "kafka": {"replicas": 1},
            "zookeeper": {"replicas": 1},
            "podTemplate": template,
            "topics": [{"name": "foo", "replicationFactor": 1}],
            "traffic": {
                "producers": [{"name": "a", "topic": "foo"}],
                "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
            },
        }
    )
    found = with_pull_secrets(spec, installation).dump()
    secrets = found["podTemplate"].get("imagePullSecrets", [])
    assert [secret["name"] for secret in secrets] == expected


def kraft_plan(**config: str) -> Plan:
    def change(spec: dict[str, Any]) -> None:
        spec["kafka"]["config"] = config

    return sample_plan(change, manifest="sample-kraft.yaml")


def test_kraft_plan_has_controllers_instead_of_zookeeper() -> None:
    plan = kraft_plan()
    assert plan.metadata.mode is MetadataMode.KRAFT
    assert plan.metadata.cluster_id == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert [each.kind for each in plan.members] == [MemberKind.KAFKA] * 3 + [
        MemberKind.CONTROLLER
    ] * 3
    assert [each.zone for each in plan.controllers] == ["zone-a", "zone-b", "zone-c"]
    assert (plan.zookeeper, plan.zookeeper_config) == ("", {})
    assert plan.images["kafka"] == "kafka:4"


def test_kraft_plan_gives_controllers_what_they_act_on() -> None:
    acted_on = {
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "true",
        "broker.session.timeout.ms": "4000",
        "auto.leader.rebalance.enable": "false",
    }
    plan = kraft_plan(**acted_on, **{"num.io.threads": "4"})
    no_snapshots = {"metadata.log.max.snapshot.interval.ms": "0"}
    assert plan.controller_config == {**acted_on, **no_snapshots}
    assert plan.broker_config.items() >= {**acted_on, **no_snapshots}.items()
    assert plan.broker_session.seconds == 4
    assert not any(name.startswith("zookeeper.") for name in plan.broker_config)


def test_broker_session_without_setting_is_the_default_of_the_mode() -> None:
    assert kraft_plan().broker_session.seconds == 9
    assert sample_plan(lambda spec: spec["kafka"].pop("config")).broker_session.seconds == 18


@given(st.uuids().map(str) | st.text(max_size=40))
def test_cluster_id_is_a_kafka_id_that_is_no_option(uid: str) -> None:
    found = cluster_id(uid)
    assert found == cluster_id(uid)
    assert len(found) == 22
    assert not found.startswith("-")
    assert len(base64.urlsafe_b64decode(found + "==")) == 16


def test_cluster_id_has_the_bytes_of_the_uid() -> None:
    uid = "d1a7f0c2-93ae-4f53-8a51-0b5f2f7f3c11"
    assert base64.urlsafe_b64decode(cluster_id(uid) + "==") == UUID(uid).bytes


def test_cluster_id_of_a_uid_that_begins_with_a_dash_is_changed() -> None:
    assert cluster_id("f8000000-0000-4000-8000-000000000000").startswith("eA")
