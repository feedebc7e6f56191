"""Runs on a cluster that somebody else runs: what is created there, refused, and deleted."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.operator.doubles.world import World

from krt_contract.entries import Topic
from krt_contract.metadata import HistorySource, Metadata, MetadataMode
from krt_operator.api.plan import Plan
from krt_operator.engine.reading import observe, read_run
from krt_operator.errors import TransientError, UserError
from krt_operator.phases.reference import release

SPEC: dict[str, Any] = {
    "kafkaRef": {"bootstrapServers": ["kafka-0.other:9092", "kafka-1.other:9092"]},
    "topics": [{"name": "krt-foo", "partitions": 2, "replicationFactor": 3}],
    "traffic": {
        "producers": [{"name": "a", "topic": "krt-foo", "recordsPerSecond": 100}],
        "consumers": [{"name": "c", "topics": ["krt-foo"], "group": "krt-g"}],
    },
}
SETTINGS = {
    "process.roles": "broker",
    "min.insync.replicas": "2",
    "listener.name.internal.ssl.keystore.location": "/etc/keys",
    "advertised.listeners": "PLAINTEXT://somewhere",
    "log.dirs": "/data",
}
PAYMENTS = Topic("payments", 1, 3, {}, {0: (11, 12, 13)})


def world_of(**changes: Any) -> World:
    """A world with a cluster of three brokers in two racks, and a topic that is not ours."""
    world = World(**{**SPEC, **changes})
    world.reference = {11: "a", 12: "b", 13: ""}
    world.reference_settings = SETTINGS
    world.topics["payments"] = PAYMENTS
    return world


def plan_of(world: World) -> Plan:
    return Plan.from_json(world.objects["ConfigMap", "t-plan"]["data"]["plan.json"])


def test_reference_run_passes_and_leaves_nothing_but_the_evidence() -> None:
    world = world_of()
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert world.names_of("StatefulSet") == world.names_of("Service") == set()
    assert world.topics == {"payments": PAYMENTS}
    assert world.kafka_calls == [
        ("create", ("krt-foo",)),
        ("delete topics", ("krt-foo",)),
        ("delete groups", ("krt-g",)),
    ]
    assert "kafkaObjects" not in status


def test_reference_run_deploys_no_member_and_creates_no_internal_topic() -> None:
    world = world_of()
    status = world.run(until="Injecting")
    assert world.names_of("StatefulSet") == set()
    assert set(world.topics) == {"payments", "krt-foo"}
    assert status["kafkaObjects"] == {"topics": ["krt-foo"], "groups": ["krt-g"]}
    condition = world.condition("Provisioned")
    assert (condition["status"], condition["reason"]) == ("True", "ClusterReady")
    assert "connected to kafka-0.other:9092,kafka-1.other:9092: 3 brokers" in condition["message"]


def test_reference_plan_has_what_the_brokers_report_and_none_of_their_addresses() -> None:
    world = world_of()
    world.run(until="Provisioning")
    plan = plan_of(world)
    assert plan.members == ()
    assert plan.bootstrap == "kafka-0.other:9092,kafka-1.other:9092"
    assert plan.metadata == Metadata(MetadataMode.KRAFT, referenced=True)
    assert plan.metadata.source is HistorySource.POLLING
    assert plan.broker_config == {"min.insync.replicas": "2"}
    (topic,) = plan.topics
    assert topic.config == {
        "cleanup.policy": "delete",
        "retention.bytes": "-1",
        "retention.ms": "-1",
    }
    assert {frozenset(replicas) for replicas in topic.assignment.values()} == {
        frozenset({11, 12, 13})
    }


def test_reference_of_a_cluster_with_zookeeper_is_planned_in_that_mode() -> None:
    world = world_of()
    world.reference_settings = {"zookeeper.session.timeout.ms": "6000"}
    world.run(until="Provisioning")
    plan = plan_of(world)
    assert plan.metadata.mode is MetadataMode.ZOOKEEPER
    assert plan.zookeeper == ""
    assert plan.broker_session.seconds == 6


@pytest.mark.parametrize("field", ["topic", "group"])
def test_reference_run_refuses_what_is_there_before_anything_is_built(field: str) -> None:
    world = world_of()
    if field == "topic":
        world.topics["krt-foo"] = Topic("krt-foo", 1, 1, {}, {0: (11,)})
    else:
        world.groups = {"krt-g"}
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    condition = world.condition("Provisioned")
    assert condition["reason"] == {"topic": "TopicExists", "group": "GroupExists"}[field]
    assert f"{field} krt-{field[0] if field == 'group' else 'foo'} exists" in condition["message"]
    assert world.names_of("Pod") == world.names_of("ConfigMap") == set()
    assert world.kafka_calls == []


def test_reference_run_refuses_a_topic_that_came_after_the_plan() -> None:
    world = world_of()
    world.run(until="Provisioning")
    world.topics["krt-foo"] = Topic("krt-foo", 1, 1, {}, {0: (11,)})
    status = world.run()
    assert status["phase"] == "Error"
    assert world.condition("Provisioned")["reason"] == "TopicExists"
    assert "krt-foo" in world.topics
    assert world.kafka_calls == []


def test_reference_run_killed_after_the_topics_goes_on_with_them() -> None:
    world = world_of()
    world.run(until="Provisioning")
    while not world.kafka_calls:
        world.controller().run_once("t")
        world.tick(1)
    assert world.run()["verdict"] == "Passed"
    assert [call for call, _ in world.kafka_calls].count("create") == 1


def test_reference_run_with_too_few_brokers_names_the_topic() -> None:
    world = world_of()
    world.reference = {1: "", 2: ""}
    world.run()
    condition = world.condition("Provisioned")
    assert condition["reason"] == "TooFewBrokers"
    assert "spec.topics[krt-foo].replicationFactor" in condition["message"]


def test_reference_run_that_expects_something_of_an_unknown_broker_names_those_there_are() -> None:
    world = world_of(expect={"inIsr": [{"broker": 12, "min": 2}, {"broker": 101, "max": 0}]})
    assert world.run()["phase"] == "Error"
    condition = world.condition("Provisioned")
    assert condition["reason"] == "NoSuchBroker"
    assert "spec.expect.inIsr[101].broker: there is no broker 101" in condition["message"]
    assert "11, 12, 13" in condition["message"]
    assert world.names_of("Pod") == world.names_of("ConfigMap") == set()


def test_reference_run_that_expects_something_of_its_brokers_goes_on() -> None:
    world = world_of(expect={"inIsr": [{"broker": 13, "min": 2}]})
    assert world.run()["phase"] == "Completed"
    bounds = {"broker": 13, "min": 2}
    assert plan_of(world).resolved_spec["expect"]["inIsr"] == [bounds]


def test_reference_that_does_not_answer_ends_the_run_within_a_minute() -> None:
    world = world_of()
    world.silent_kafka = True
    status = world.run_on(seconds=60, pause=5)
    assert status["phase"] == "Error", status
    assert world.condition("Provisioned")["reason"] == "KafkaUnreachable"
    assert "kafka-0.other:9092" in world.condition("Provisioned")["message"]
    assert world.names_of("Pod") == world.names_of("ConfigMap") == set()


def test_reference_that_answers_again_lets_the_run_go_on() -> None:
    world = world_of()
    world.silent_kafka = True
    world.run_on(seconds=15, pause=5)
    assert world.condition("Reconciling")["reason"] == "KafkaUnreachable"
    world.silent_kafka = False
    assert world.run_on()["verdict"] == "Passed"


def test_reference_broker_out_of_reach_of_pods_ends_the_run_with_their_words() -> None:
    world = world_of()
    report = {"field": "spec.kafkaRef.bootstrapServers", "error": "do not reach broker 12"}
    engine = world.controller()
    world.fail_preflight(engine, 2, json.dumps(report))
    world.run(controller=engine)
    condition = world.condition("Provisioned")
    assert condition["reason"] == "KafkaUnreachable"
    assert "do not reach broker 12" in condition["message"]
    assert world.kafka_calls == []


def test_reference_run_retained_keeps_topics_until_the_test_is_deleted() -> None:
    world = world_of(cleanup="Retain")
    status = world.run()
    assert status["phase"] == "Completed"
    assert status["kafkaObjects"]["topics"] == ["krt-foo"]
    assert "krt-foo" in world.topics


def test_release_of_a_test_in_mid_run_ends_its_clients_and_then_deletes_its_topics() -> None:
    world = world_of()
    world.run(until="Injecting")
    waits = []
    for _ in range(10):
        run = read_run(world.test, world.time)
        ports = world.ports()
        waits.append(release(run, observe(ports, run.name, run.uid, run.status.phase), ports))
        if not waits[-1]:
            break
        world.tick(1)
    assert waits[0].startswith("pod ")
    assert waits[-1] == ""
    assert set(world.topics) == {"payments"}


def test_release_of_a_test_without_topics_does_nothing() -> None:
    world = World()
    world.run(until="Injecting")
    run = read_run(world.test, world.time)
    pods = world.names_of("Pod")
    assert release(run, observe(world.ports(), run.name, run.uid, None), world.ports()) == ""
    assert world.names_of("Pod") == pods


def test_cleanup_while_kafka_does_not_answer_tries_again() -> None:
    world = world_of()
    world.run(until="CleaningUp")
    world.silent_kafka = True
    world.run_on(seconds=60, pause=5)
    assert world.status["phase"] == "CleaningUp"
    assert any(isinstance(error, TransientError) for error in world.errors)
    world.silent_kafka = False
    assert world.run_on()["phase"] == "Completed"
    assert set(world.topics) == {"payments"}


def test_cleanup_of_a_cluster_that_is_gone_ends_and_names_what_stays() -> None:
    world = world_of()
    world.run(until="CleaningUp")
    world.silent_kafka = True
    status = world.run_on(seconds=900, pause=15)
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed")
    message = world.condition("Finished")["message"]
    assert "krt-foo, krt-g are not deleted at kafka-0.other:9092" in message
    assert status["kafkaObjects"]["topics"] == ["krt-foo"]


@pytest.mark.parametrize("reason", ["TopicDeletionDisabled", "KafkaNotAuthorized"])
def test_cleanup_of_topics_that_may_not_be_deleted_ends_soon_and_says_so(reason: str) -> None:
    world = world_of()
    world.run(until="CleaningUp")
    world.undeletable = UserError(reason, "spec.topics[krt-foo]", "not deleted: do this")
    begun = world.time
    world.run_on(seconds=20, pause=5)
    assert world.condition("Reconciling")["reason"] == reason
    status = world.run_on(seconds=120, pause=5)
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed")
    assert world.time - begun < timedelta(seconds=60)
    assert "spec.topics[krt-foo]: not deleted: do this" in world.condition("Finished")["message"]
    assert ("delete groups", ("krt-g",)) in world.kafka_calls


def test_reference_without_a_broker_is_not_reached() -> None:
    world = world_of()
    world.reference_down = frozenset(world.reference)
    assert world.run_on(seconds=60, pause=5)["phase"] == "Error"
    assert world.condition("Provisioned")["reason"] == "KafkaUnreachable"


EXTERNAL = {
    "name": "broker-gone",
    "action": "External",
    "target": {"role": "Partition", "topic": "krt-foo"},
    "duration": "20s",
}


def run_to_the_open_fault(world: World) -> None:
    while not world.status.get("activeFaults"):
        world.tick(world.controller().run_once("t") or 0.01)


def test_external_fault_is_verified_by_what_somebody_does_within_its_time() -> None:
    world = world_of(faults=[EXTERNAL])
    run_to_the_open_fault(world)
    world.reference_down = frozenset({12})
    world.run(seconds=10)
    (entry,) = world.status["faults"]
    assert (entry["state"], entry["verified"]) == ("Active", True)
    assert {seen["kind"] for seen in entry["observations"]} == {"IsrShrank"}
    world.run(seconds=15)
    (entry,) = world.status["faults"]
    assert entry["state"] == "Reverted"
    assert "recoveredAt" not in entry
    world.reference_down = frozenset()
    status = world.run()
    assert (status["phase"], status["inconclusiveReasons"]) == ("Completed", [])
    assert status["faults"][0]["recoveredAt"] > entry["revertedAt"]


def test_external_fault_that_is_over_before_its_short_time_is_seen() -> None:
    world = world_of(faults=[EXTERNAL | {"duration": "5s"}])
    run_to_the_open_fault(world)
    world.reference_down = frozenset({12})
    world.run(seconds=2)
    world.reference_down = frozenset()
    world.run(seconds=1)
    (entry,) = world.status["faults"]
    assert (entry["state"], entry["verified"]) == ("Active", True)


def test_external_fault_that_nobody_injects_is_not_verified() -> None:
    world = world_of(faults=[EXTERNAL])
    status = world.run()
    assert status["phase"] == "Completed"
    assert status["faults"][0]["verified"] is False
    assert [reason["code"] for reason in status["inconclusiveReasons"]] == ["FaultNotVerified"]


def test_external_fault_touches_nothing() -> None:
    world = world_of(faults=[EXTERNAL])
    run_to_the_open_fault(world)
    world.reference_down = frozenset({11})
    world.run(seconds=5)
    world.reference_down = frozenset()
    world.run()
    assert world.injected == []
    assert [call for call, _ in world.kafka_calls] == ["create", "delete topics", "delete groups"]
