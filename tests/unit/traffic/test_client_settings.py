from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.traffic.plans import document, load_plan

from krt_contract.kafka_login import Login
from krt_contract.kafka_security import SecretFile, Security
from krt_traffic.consumer.settings import client_settings as consumer_settings
from krt_traffic.consumer.settings import cooperative
from krt_traffic.plan import load
from krt_traffic.sending.settings import IDEMPOTENT_TIMEOUT_MS, client_settings, single_attempt

if TYPE_CHECKING:
    from pathlib import Path


def test_producer_settings_of_an_output_are_transactional_with_the_consumers_name(
    tmp_path: Path,
) -> None:
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


def test_client_settings_of_a_secured_cluster_have_the_login_and_a_prefixed_transaction(
    tmp_path: Path,
) -> None:
    body = document()
    sasl = {"mechanism": "PLAIN", "username": "alice", "secretRef": {"name": "user"}}
    body["spec"]["kafkaRef"] = {"prefix": "krt-", "security": {"tls": {}, "sasl": sasl}}
    body["spec"]["traffic"]["producers"][0]["transactional"] = {"recordsPerTransaction": 5}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(body))
    read = load(path)
    login = Login(Security.of(read.resolved_spec), {SecretFile.PASSWORD: "x"})
    expected = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "x",
    }
    producer = client_settings(read, read.producer("main"), "main-0", login)
    consumer = consumer_settings(read, read.consumer("read"), "read-0", login)
    assert expected.items() <= producer.items()
    assert expected.items() <= consumer.items()
    assert producer["transactional.id"] == "krt-u-main-0"


def test_producer_settings_of_the_run_win_over_those_of_the_resource(tmp_path: Path) -> None:
    read = load_plan(tmp_path, config={"linger.ms": "7", "acks": "0", "message.timeout.ms": "9"})
    settings = client_settings(read, read.producer("main"), "main-0")
    assert settings["acks"] == "all"
    assert settings["linger.ms"] == "7"
    assert settings["message.timeout.ms"] == "9"


def test_producer_settings_of_an_idempotent_client_let_no_message_expire(tmp_path: Path) -> None:
    read = load_plan(tmp_path)
    settings = client_settings(read, read.producer("main"), "main-0")
    assert settings["message.timeout.ms"] == IDEMPOTENT_TIMEOUT_MS


def test_consumer_settings_leave_storing_and_resetting_offsets_to_the_program(
    tmp_path: Path,
) -> None:
    read = load_plan(tmp_path)
    settings = consumer_settings(read, read.consumer("read"), "read-0")
    assert settings["enable.auto.commit"] is True
    assert settings["enable.auto.offset.store"] is False
    assert settings["auto.offset.reset"] == "error"
    assert not cooperative(settings)
    assert cooperative({"partition.assignment.strategy": "cooperative-sticky"})
    assert cooperative({"group.protocol": "consumer", "group.remote.assignor": "range"})
    assert not cooperative({"group.protocol": "classic"})


@pytest.mark.parametrize(("static", "instance"), [(True, "read-0"), (False, None)])
def test_consumer_settings_of_a_static_member_name_its_instance(
    tmp_path: Path, static: bool, instance: str | None
) -> None:
    body = document()
    body["spec"]["traffic"]["consumers"][0]["staticMembership"] = static
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(body))
    read = load(path)
    settings = consumer_settings(read, read.consumer("read"), "read-0")
    assert settings.get("group.instance.id") == instance


def test_producer_settings_bound_in_flight_requests_unless_the_resource_does(
    tmp_path: Path,
) -> None:
    name = "max.in.flight.requests.per.connection"
    read = load_plan(tmp_path)
    assert client_settings(read, read.producer("main"), "m")["max.in.flight"] == 5
    read = load_plan(tmp_path, config={name: "9"})
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
def test_producer_settings_linger_only_for_an_idempotent_client_unless_the_resource_does(
    tmp_path: Path, acks: str, config: dict[str, str], lingers: dict[str, Any]
) -> None:
    read = load_plan(tmp_path, acks=acks, config=config)
    settings = client_settings(read, read.producer("main"), "m")
    names = {"linger.ms", "queue.buffering.max.ms"}
    assert {key: value for key, value in settings.items() if key in names} == lingers


def test_single_attempt_is_zero_retries() -> None:
    assert single_attempt({"retries": "0"})
    assert not single_attempt({})
