from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from krt_traffic.consumer.settings import client_settings as consumer_settings
from krt_traffic.consumer.settings import cooperative
from krt_traffic.environment import Environment
from krt_traffic.errors import UnusableError
from krt_traffic.plan import find_consumer, find_producer, load
from krt_traffic.producer.settings import IDEMPOTENT_TIMEOUT_MS, client_settings, single_attempt

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.plan import Plan


def document(**producer: Any) -> dict[str, Any]:
    entry = {
        "name": "main",
        "topic": "foo",
        "acks": "all",
        "recordsPerSecond": 500,
        "valueBytes": 200,
        "keyCount": 5,
        "config": {"linger.ms": "7"},
    }
    return {
        "schemaVersion": 2,
        "run": {"namespace": "ns", "name": "t", "uid": "u", "seed": 42},
        "bundle": "ns/t/u",
        "bootstrap": "b:9092",
        "zookeeper": "z0:2181,z1:2181",
        "members": [
            {"member": "kafka-0", "kind": "kafka", "ordinal": 0},
            {"member": "zk-0", "kind": "zookeeper", "ordinal": 0},
            {"member": "zk-1", "kind": "zookeeper", "ordinal": 1},
        ],
        "topics": [{"name": "foo", "partitions": 3, "replicationFactor": 3}],
        "spec": {
            "timeouts": {"drain": "2m"},
            "traffic": {
                "producers": [entry | producer],
                "consumers": [
                    {
                        "name": "read",
                        "topics": ["foo"],
                        "group": "g",
                        "commit": "Auto",
                        "isolation": "read_committed",
                    }
                ],
            },
        },
    }


def plan(tmp_path: Path, **producer: Any) -> Plan:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document(**producer)))
    return load(path)


def test_a_plan_is_read(tmp_path: Path) -> None:
    read = plan(tmp_path)
    assert read.producer("main").partitions == 3
    assert read.zookeeper_addresses == {"zk-0": "z0:2181", "zk-1": "z1:2181"}
    assert read.drain_timeout.seconds == 120


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schemaVersion": 1}, "schemaVersion 1"),
        ({"run": {}}, "run.namespace is missing"),
        ({"spec": {}}, "spec.timeouts.drain is missing"),
        ({"topics": []}, "foo"),
    ],
)
def test_an_unusable_plan_says_what_is_wrong(
    tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document() | change))
    with pytest.raises(UnusableError, match=says):
        load(path)


def test_an_output_is_a_transactional_producer_of_the_consumers_name(tmp_path: Path) -> None:
    body = document()
    body["topics"].append({"name": "bar", "partitions": 2, "replicationFactor": 3})
    body["spec"]["traffic"]["consumers"][0]["output"] = {
        "topic": "bar",
        "recordsPerTransaction": 50,
        "abortPermille": 100,
        "valueBytes": 300,
        "config": {"transaction.timeout.ms": 9000},
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(body))
    read = load(path)
    output = read.consumer("read").output
    assert output is not None
    assert (output.name, output.topic, output.partitions) == ("read", "bar", 2)
    settings = client_settings(read, output, "read-0")
    assert (settings["transactional.id"], settings["acks"]) == ("u-read-0", "all")
    assert (settings["enable.idempotence"], settings["transaction.timeout.ms"]) == (True, "9000")
    assert "message.timeout.ms" not in settings


def test_an_unknown_entry_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnusableError, match=r"KRT_NAME.*'other'.*main"):
        find_producer(plan(tmp_path), "other")
    with pytest.raises(UnusableError, match=r"KRT_NAME.*'other'.*read"):
        find_consumer(plan(tmp_path), "other")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnusableError, match=r"plan\.json: cannot be read"):
        load(tmp_path / "plan.json")


def test_what_is_ours_cannot_be_overridden_and_the_rest_can(tmp_path: Path) -> None:
    read = plan(tmp_path, config={"linger.ms": "7", "acks": "0", "message.timeout.ms": "9"})
    settings = client_settings(read, read.producer("main"), "main-0")
    assert settings["acks"] == "all"
    assert settings["linger.ms"] == "7"
    assert settings["message.timeout.ms"] == "9"


def test_an_idempotent_message_outlives_the_run(tmp_path: Path) -> None:
    read = plan(tmp_path)
    settings = client_settings(read, read.producer("main"), "main-0")
    assert settings["message.timeout.ms"] == IDEMPOTENT_TIMEOUT_MS


def test_offsets_are_never_stored_or_reset_behind_our_back(tmp_path: Path) -> None:
    read = plan(tmp_path)
    settings = consumer_settings(read, read.consumer("read"), "read-0")
    assert settings["enable.auto.commit"] is True
    assert settings["enable.auto.offset.store"] is False
    assert settings["auto.offset.reset"] == "error"
    assert not cooperative(settings)
    assert cooperative({"partition.assignment.strategy": "cooperative-sticky"})


def test_in_flight_requests_are_bounded_unless_the_resource_says(tmp_path: Path) -> None:
    name = "max.in.flight.requests.per.connection"
    read = plan(tmp_path)
    assert client_settings(read, read.producer("main"), "m")["max.in.flight"] == 5
    read = plan(tmp_path, config={name: "9"})
    settings = client_settings(read, read.producer("main"), "m")
    assert (settings[name], "max.in.flight" in settings) == ("9", False)


@pytest.mark.parametrize(
    ("acks", "config", "lingers"),
    [
        ("all", {}, {"linger.ms": 50}),
        ("all", {"linger.ms": "0"}, {"linger.ms": "0"}),
        ("all", {"queue.buffering.max.ms": "9"}, {"queue.buffering.max.ms": "9"}),
        ("1", {}, {}),
    ],
)
def test_only_an_idempotent_client_lingers_unless_the_resource_says(
    tmp_path: Path, acks: str, config: dict[str, str], lingers: dict[str, Any]
) -> None:
    read = plan(tmp_path, acks=acks, config=config)
    settings = client_settings(read, read.producer("main"), "m")
    names = {"linger.ms", "queue.buffering.max.ms"}
    assert {key: value for key, value in settings.items() if key in names} == lingers


def test_no_retries_is_a_single_attempt() -> None:
    assert single_attempt({"retries": "0"})
    assert not single_attempt({})


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(UnusableError, match="KRT_PLAN"):
        Environment.read({})
