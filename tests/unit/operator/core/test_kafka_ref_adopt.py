"""Runs on topics that were there before: what is refused, where they begin, and what stays."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.operator.doubles.world import World

from krt_contract.control import BOUNDS_KEY
from krt_contract.entries import Topic
from krt_operator.api.plan import Plan
from krt_operator.engine.reading import observe, read_run
from krt_operator.phases.reference import release

WEEK = "604800000"
SETTINGS = {
    "cleanup.policy": "delete",
    "min.insync.replicas": "2",
    "retention.bytes": "-1",
    "retention.ms": WEEK,
    "unclean.leader.election.enable": "true",
    "segment.ms": WEEK,
}
ORDERS = Topic("orders", 2, 3, SETTINGS, {0: (12, 11, 13), 1: (13, 12, 11)})
"""A topic of somebody else, with a week of retention, as Kafka has it by default."""
OLD = 5000
SPEC: dict[str, Any] = {
    "kafkaRef": {"bootstrapServers": ["kafka-0.other:9092"]},
    "topics": [
        {"name": "orders", "partitions": 2, "replicationFactor": 3, "adopt": True},
        {"name": "krt-own", "partitions": 1, "replicationFactor": 3},
    ],
    "traffic": {
        "producers": [
            {"name": "a", "topic": "orders", "recordsPerSecond": 100},
            {"name": "b", "topic": "krt-own", "recordsPerSecond": 100},
        ],
        "consumers": [{"name": "c", "topics": ["orders", "krt-own"], "group": "krt-g"}],
    },
}


def world_of(topic: Topic | None = ORDERS, **changes: Any) -> World:
    world = World(**{**SPEC, **changes})
    world.reference = {11: "a", 12: "b", 13: ""}
    world.reference_settings = {"process.roles": "broker", "min.insync.replicas": "2"}
    if topic is not None:
        world.topics["orders"] = topic
    world.old_records = {"orders": OLD}
    return world


def plan_of(world: World) -> Plan:
    return Plan.from_json(world.objects["ConfigMap", "t-plan"]["data"]["plan.json"])


def bounds_of(world: World) -> list[dict[str, Any]]:
    return list(json.loads(world.objects["ConfigMap", "t-control"]["data"][BOUNDS_KEY]))


def test_adopting_run_passes_and_neither_changes_nor_deletes_the_topic() -> None:
    world = world_of()
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    assert world.topics == {"orders": ORDERS}
    assert world.kafka_calls == [
        ("create", ("krt-own",)),
        ("delete topics", ("krt-own",)),
        ("delete groups", ("krt-g",)),
    ]


def test_adopting_run_lists_for_deletion_only_what_it_made() -> None:
    world = world_of()
    status = world.run(until="Injecting")
    assert status["kafkaObjects"] == {"topics": ["krt-own"], "groups": ["krt-g"]}
    message = world.condition("Provisioned")["message"]
    assert "topics orders 2x3 (adopted), krt-own 1x3" in message


def test_adopting_run_of_no_topic_of_its_own_deletes_its_groups_alone() -> None:
    (orders, _), traffic = SPEC["topics"], SPEC["traffic"]
    consumer = {**traffic["consumers"][0], "topics": ["orders"]}
    world = world_of(
        topics=[orders],
        traffic={"producers": traffic["producers"][:1], "consumers": [consumer]},
    )
    status = world.run()
    assert status["verdict"] == "Passed", status
    assert world.kafka_calls == [("delete groups", ("krt-g",))]


def test_adopting_plan_has_the_topic_as_it_is_and_begins_at_its_end() -> None:
    world = world_of()
    world.run(until="Provisioning")
    plan = plan_of(world)
    orders, own = plan.topics
    assert (orders.partitions, orders.replication_factor) == (2, 3)
    assert orders.assignment == ORDERS.assignment
    assert orders.begin == {0: OLD, 1: OLD}
    assert orders.config == {key: value for key, value in SETTINGS.items() if key != "segment.ms"}
    assert (plan.min_insync("orders"), plan.unclean_election("orders")) == (2, True)
    assert (own.adopted, own.config["retention.ms"]) == (False, "-1")


def test_adopting_run_bounds_the_log_at_its_begin() -> None:
    world = world_of()
    world.run(until="Scoring")
    bounds = {(item["topic"], item["partition"]): item for item in bounds_of(world)}
    assert {key: item["logStart"] for key, item in bounds.items()} == {
        ("krt-own", 0): 0,
        ("orders", 0): OLD,
        ("orders", 1): OLD,
    }
    own, orders = bounds["krt-own", 0], bounds["orders", 0]
    assert orders["highWatermark"] == OLD + own["highWatermark"]


def test_adopting_run_whose_log_ends_below_its_begin_has_nothing_to_read() -> None:
    world = world_of()
    world.run(until="Draining")
    world.old_records = {"orders": 1 - int(world.written)}
    world.run(until="Scoring")
    bounds = [item for item in bounds_of(world) if item["topic"] == "orders"]
    assert [item["highWatermark"] < OLD for item in bounds] == [True, True]
    assert [item["logStart"] == item["highWatermark"] for item in bounds] == [True, True]


def test_adopting_run_does_not_count_old_records_as_traffic() -> None:
    world = world_of()
    world.run(until="Injecting")
    message = world.condition("TrafficEstablished")["message"]
    own, orders = map(int, re.findall(r"(\d+) written", message))
    (committed,) = map(int, re.findall(r"(\d+) committed", message))
    assert (orders, committed) == (2 * own, 3 * own)


@pytest.mark.parametrize("end", ["Retain", "Delete"])
def test_release_of_an_adopting_test_keeps_the_topic(end: str) -> None:
    world = world_of(cleanup=end)
    world.run(until="Injecting")
    for _ in range(10):
        run = read_run(world.test, world.time)
        ports = world.ports()
        if not release(run, observe(ports, run.name, run.uid, run.status.phase), ports):
            break
        world.tick(1)
    assert world.topics == {"orders": ORDERS}


def settings(**changes: str) -> Topic:
    named = {key.replace("_", "."): value for key, value in changes.items()}
    return replace(ORDERS, config={**SETTINGS, **named})


@pytest.mark.parametrize(
    ("topic", "says"),
    [
        (None, "is not on the cluster of spec.kafkaRef"),
        (
            replace(ORDERS, assignment={**ORDERS.assignment, 2: (11, 12, 13)}),
            "has 3 partitions and not 2; set partitions to 3",
        ),
        (
            replace(ORDERS, assignment={0: (11, 12), 1: (12, 13)}),
            "has 2 replicas and not 3; set replicationFactor to 2",
        ),
        (
            replace(ORDERS, assignment={0: (11, 12), 1: (11, 12, 13)}),
            "has 2 or 3 replicas and not 3; give all of its partitions the same number",
        ),
        (settings(cleanup_policy="compact,delete"), "has cleanup.policy compact,delete"),
        (settings(retention_bytes="1073741824"), "has retention.bytes 1073741824"),
        (settings(retention_ms="60000"), "has retention.ms 60000, and the run may take "),
        (settings(min_insync_replicas="4"), "has min.insync.replicas 4 and 3 replicas"),
    ],
)
def test_adopting_run_refuses_an_unfit_topic_before_anything_is_built(
    topic: Topic | None, says: str
) -> None:
    world = world_of(topic)
    status = world.run()
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    condition = world.condition("Provisioned")
    assert condition["reason"] == "TopicUnusable"
    assert f"spec.topics[orders]: topic orders {says}" in condition["message"]
    assert world.names_of("Pod") == world.names_of("ConfigMap") == set()
    assert world.kafka_calls == []


def test_adopting_run_refuses_a_topic_to_which_somebody_writes_in_a_transaction() -> None:
    world = world_of()
    world.restless_log = True
    assert world.run()["phase"] == "Error"
    assert "has an open transaction in partition 0" in world.condition("Provisioned")["message"]


def test_adopting_run_refuses_a_topic_without_a_leader() -> None:
    (orders, own) = SPEC["topics"]
    one_each = replace(settings(min_insync_replicas="1"), assignment={0: (12,), 1: (13,)})
    world = world_of(one_each, topics=[{**orders, "replicationFactor": 1}, own])
    world.reference_down = frozenset({13})
    assert world.run()["phase"] == "Error"
    condition = world.condition("Provisioned")
    assert condition["reason"] == "TopicUnusable"
    assert "topic orders has no leader of orders-1; start its brokers" in condition["message"]


def test_adopting_run_waits_for_a_broker_of_the_topic_that_is_down() -> None:
    (orders, _), traffic = SPEC["topics"], SPEC["traffic"]
    consumer = {**traffic["consumers"][0], "topics": ["orders"]}
    only_orders = {"producers": traffic["producers"][:1], "consumers": [consumer]}
    world = world_of(topics=[orders], traffic=only_orders)
    world.reference_down = frozenset({11})
    status = world.run_on(seconds=60, pause=5)
    assert status["phase"] == "Provisioning"
    message = world.condition("Provisioned")["message"]
    assert "waiting for leaders and in-sync replicas of orders-0, orders-1" in message
    world.reference_down = frozenset()
    assert world.run_on()["verdict"] == "Passed"


def test_adopting_run_waits_until_every_broker_knows_its_own_topic() -> None:
    world = world_of()
    world.run(until="Provisioning")
    (name,) = (topic.name for topic in plan_of(world).topics if not topic.adopted)
    world.unheard = {(12, name, 0)}
    assert world.run_on(seconds=60, pause=5)["phase"] == "Provisioning"
    message = world.condition("Provisioned")["message"]
    assert f"waiting for broker 12 to know a leader of {name}-0" in message
    world.unheard = set()
    assert world.run_on()["verdict"] == "Passed"


def test_adopting_run_does_not_create_a_topic_that_went_after_the_plan() -> None:
    world = world_of()
    world.run(until="Provisioning")
    del world.topics["orders"]
    world.run_on(seconds=400, pause=5)
    assert "orders" not in world.topics
    assert world.condition("Provisioned")["reason"] == "ProvisioningTimedOut"
