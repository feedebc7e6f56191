from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.contract.plans import document, spec

from krt_contract.clients import Acks, Commit, Isolation, Transactions
from krt_contract.entries import Imported, Topic
from krt_contract.errors import ContractError
from krt_contract.faults import Action, AdminRequest
from krt_contract.members import Member, MemberKind
from krt_contract.metadata import Metadata, MetadataMode
from krt_contract.plan import Plan

PLAN = Plan.from_document(document())


def traffic(**changes: Any) -> dict[str, Any]:
    return document(spec=spec(traffic=spec()["traffic"] | changes))


def test_plan_read_from_its_own_json_is_the_same_plan() -> None:
    again = Plan.from_json(PLAN.to_json())
    assert again == PLAN
    assert again.to_json() == PLAN.to_json()
    assert json.loads(PLAN.to_json())["bundle"] == "ns/t/u"


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=9)
settings = st.dictionaries(words, words, max_size=3)
members = st.builds(
    Member, words, st.sampled_from(MemberKind), st.integers(0, 9), words, words, words
)
topics = st.builds(
    Topic,
    words,
    st.integers(1, 99),
    st.integers(1, 9),
    settings,
    st.dictionaries(st.integers(0, 99), st.lists(st.integers(0, 9)).map(tuple), max_size=3),
    st.dictionaries(st.integers(0, 99), st.integers(0, 2**63 - 1), max_size=3),
)
imports = st.builds(Imported, words, st.lists(words).map(tuple), st.lists(words).map(tuple))


@given(
    st.builds(
        Plan,
        words,
        words,
        words,
        st.integers(0, 2**31),
        st.just(spec(traffic={}, warmup="7s")),
        st.lists(topics, max_size=3).map(tuple),
        words,
        words,
        st.lists(members, max_size=3).map(tuple),
        settings,
        settings,
        settings,
        st.builds(
            Metadata,
            st.sampled_from(MetadataMode),
            words,
            st.booleans(),
            st.dictionaries(words, st.integers(0, 99), max_size=3),
        ),
        settings,
        settings,
        st.none() | imports,
    )
)
def test_plan_of_any_content_survives_json(plan: Plan) -> None:
    assert Plan.from_json(plan.to_json()) == plan


def test_plan_without_features_is_read_and_writes_none() -> None:
    """Those of earlier releases, of ZooKeeper, and of clusters that do not tell."""
    metadata = {"mode": "KRaft", "clusterId": "c"}
    plan = Plan.from_document(document(metadata=metadata))
    assert plan.metadata.features == {}
    assert plan.to_document()["metadata"] == metadata


def test_plan_begins_each_partition_of_an_adopted_topic_where_the_topic_ended() -> None:
    foo, bar = document()["topics"]
    plan = Plan.from_document(document(topics=[{**foo, "begin": {"0": 7, "2": 0}}, bar]))
    assert [plan.begin("foo", number) for number in range(3)] == [7, 0, 0]
    assert (plan.begin("bar", 0), plan.begin("unknown", 0)) == (0, 0)
    assert [topic.adopted for topic in plan.topics] == [True, False]
    written = plan.to_document()["topics"]
    assert [topic.get("begin") for topic in written] == [{"0": 7, "2": 0}, None]


def test_producer_is_read_with_its_resolved_settings() -> None:
    main = PLAN.producer("main")
    assert (main.topic, main.partitions, main.replicas) == ("foo", 3, 2)
    assert (main.acks, main.idempotent, main.transactional) == (Acks.ALL, True, False)
    assert (main.records_per_second, main.value_bytes, main.key_count) == (500, 200, 5)
    assert (main.compression, main.config) == ("none", {"linger.ms": "7"})
    assert main.identities == ("main-0", "main-1")


@pytest.mark.parametrize(
    ("acks", "given", "idempotent"),
    [("all", None, True), ("all", False, False), (1, None, False), ("0", None, False)],
)
def test_producer_without_idempotence_setting_follows_acks(
    acks: Any, given: bool | None, idempotent: bool
) -> None:
    entry = {"name": "p", "topic": "foo", "acks": acks, "enableIdempotence": given}
    plan = Plan.from_document(traffic(producers=[entry]))
    assert plan.producer("p").idempotent is idempotent


def test_producer_acks_minus_one_is_all() -> None:
    plan = Plan.from_document(traffic(producers=[{"name": "p", "topic": "foo", "acks": "-1"}]))
    assert plan.producer("p").acks is Acks.ALL


def test_transactional_consumer_output_is_a_producer_of_its_name() -> None:
    output = PLAN.consumer("make").output
    assert output is not None
    assert (output.name, output.topic, output.partitions) == ("make", "bar", 2)
    assert (output.acks, output.idempotent) == (Acks.ALL, True)
    assert output.transactions == Transactions(50, 100)
    assert output.config == {"transaction.timeout.ms": "9000"}
    assert [item.name for item in PLAN.writers] == ["main", "make"]
    assert PLAN.writer("make-0") is output
    assert PLAN.writer("main-2") is None
    assert PLAN.transactional


def test_consumer_defaults_are_kafkas_safest() -> None:
    entry = {"name": "c", "topics": ["foo", "bar"], "group": "g"}
    consumer = Plan.from_document(traffic(consumers=[entry])).consumer("c")
    assert consumer.topics == {"foo": 3, "bar": 2}
    assert (consumer.commit, consumer.isolation) == (
        Commit.AFTER_PROCESSING,
        Isolation.READ_COMMITTED,
    )
    assert (consumer.output, consumer.identities) == (None, ("c-0",))


def test_faults_and_spec_settings_are_typed() -> None:
    fault = PLAN.faults[0]
    assert (fault.name, fault.action, fault.duration.seconds) == (
        "leader-down",
        Action.CRASH_POD,
        20,
    )
    assert fault.admin_requests == (AdminRequest.CREATE_TOPIC,)
    assert PLAN.drain_timeout.seconds == 120
    assert PLAN.warmup.seconds == 15
    assert PLAN.compares_replicas
    assert PLAN.self_test


def test_effective_topic_settings_prefer_the_topics_own() -> None:
    assert (PLAN.min_insync("foo"), PLAN.min_insync("bar")) == (2, 1)
    assert PLAN.unclean_election("foo")
    bare = replace(PLAN, broker_config={})
    assert not bare.unclean_election("foo")
    assert replace(PLAN, broker_config={"min.insync.replicas": "2"}).min_insync("bar") == 2


def test_bootstrap_but_leaves_silent_brokers_out_unless_none_is_left() -> None:
    assert PLAN.bootstrap_but(frozenset()) == "k0:9092,k1:9092"
    assert PLAN.bootstrap_but(frozenset({"kafka-0"})) == "k1:9092"
    assert PLAN.bootstrap_but(frozenset({"kafka-0", "kafka-1"})) == "k0:9092,k1:9092"
    assert PLAN.zookeeper_addresses == {"zk-0": "z0:2181", "zk-1": "z1:2181"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"schemaVersion": 1},
            ("plan.json: schemaVersion 1 cannot be read, expected 2; its fields have other names "
            "now, run the test again"),
        ),
        (
            {"schemaVersion": 99},
            ("plan.json: schemaVersion 99 cannot be read, expected 2; use the version of "
            "kafka-resilience that wrote it"),
        ),
        ({"run": {"namespace": "n", "name": "t", "seed": 1}}, "plan.json: run.uid is missing"),
        (
            {"run": {"namespace": "n", "name": "t", "uid": "", "seed": 1}},
            "plan.json: run.uid is '', expected a text that is not empty",
        ),
        (
            {"run": {"namespace": "n", "name": "t", "uid": "u", "seed": "x"}},
            "plan.json: run.seed is 'x', expected a whole number, 0 or more",
        ),
        ({"spec": 7}, "plan.json: spec is 7, expected an object"),
        ({"run": []}, "plan.json: run is [], expected an object"),
        ({"topics": {}}, "plan.json: topics is {}, expected a list"),
        ({"topics": [7]}, "plan.json: topics[0] is not an object"),
        (
            {"topics": []},
            ("plan.json: spec.traffic.producers[main].topic is 'foo', expected a topic of the "
            "plan: none"),
        ),
        (
            {"members": [{"member": "kafka-0", "kind": "etcd", "ordinal": 0}]},
            (
                "plan.json: members[kafka-0].kind is 'etcd', expected one of kafka, zookeeper, "
                "controller"
            ),
        ),
        (
            {"spec": spec(faults=[{"name": "f", "action": "Explode"}])},
            ("plan.json: spec.faults[f].action is 'Explode', expected one of DeletePod, CrashPod, "
            "FreezePod, EvictPod, LoseDisk, RollingRestart, Reassign, ElectPreferredLeaders, "
            "External"),
        ),
        (
            {"spec": spec(faults=[{"name": "f", "action": "CrashPod", "duration": "20"}])},
            ("plan.json: spec.faults[f].duration: '20' is not a duration; write it like 20s, "
            "1m30s or 500ms"),
        ),
        (
            {"spec": spec(faults=[{"name": "f", "action": "CrashPod", "adminRequests": ["x"]}])},
            ("plan.json: spec.faults[f].adminRequests is ['x'], expected a list of CreateTopic, "
            "DescribeConfigs, ListTopics"),
        ),
        (
            {"metadata": {"mode": "KRaft", "features": {"metadata.version": "4.4"}}},
            ("plan.json: metadata.features.metadata.version is '4.4', expected a whole number, 0 "
            "or more"),
        ),
        (
            {"spec": spec(evidence={"compareReplicas": "yes"})},
            "plan.json: spec.evidence.compareReplicas is 'yes', expected true or false",
        ),
        (
            {"spec": spec(traffic={"consumers": [{"name": "c", "topics": "foo", "group": "g"}]})},
            "plan.json: spec.traffic.consumers[c].topics is 'foo', expected a list",
        ),
        (
            {"topics": [{"name": "a", "partitions": 1, "replicationFactor": 1,
                         "assignment": {"x": [1]}}]},
            "plan.json: topics[a].assignment.x is not a partition number",
        ),
    ],
)  # fmt: skip
def test_plan_that_cannot_be_used_names_field_and_remedy(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ContractError) as error:
        Plan.from_document(document(**change))
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"), [("{", "run.json: not JSON"), ("[]", "run.json: not a JSON object")]
)
def test_plan_of_another_text_names_the_file(text: str, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        Plan.from_json(text, "run.json")


def test_entry_that_is_unknown_names_the_known_ones() -> None:
    with pytest.raises(ContractError, match=r"producers has no entry 'other', only: main"):
        PLAN.producer("other")
    with pytest.raises(ContractError, match=r"consumers has no entry 'other', only: make"):
        PLAN.consumer("other")


def test_drain_timeout_that_is_missing_is_named() -> None:
    plan = Plan.from_document(document(spec=spec(timeouts=None)))
    with pytest.raises(ContractError, match=r"spec\.timeouts\.drain is missing"):
        _ = plan.drain_timeout


def test_zookeeper_session_and_offsets_partitions_are_the_brokers_or_kafkas_default() -> None:
    assert (PLAN.zookeeper_session.seconds, PLAN.offsets_partitions) == (18, 50)
    config = {"zookeeper.session.timeout.ms": "6000", "offsets.topic.num.partitions": "3"}
    plan = replace(PLAN, broker_config=config)
    assert (plan.zookeeper_session.seconds, plan.offsets_partitions) == (6, 3)
