from __future__ import annotations

import pytest

from krt_contract.plan import Plan
from krt_scoring.allowances.offsets import java_hash
from krt_scoring.inputs.client_settings import (
    STRICT,
    handover_time,
    heartbeat_interval,
    producer_settings,
    session_timeout,
)


def run(**producer: object) -> Plan:
    return Plan.from_document(
        {
            "schemaVersion": 2,
            "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
            "spec": {"traffic": {"producers": [{"name": "p", "topic": "t", **producer}]}},
            "topics": [{"name": "t", "partitions": 1, "replicationFactor": 3}],
        }
    )


def test_producer_settings_of_an_unknown_identity_are_strict() -> None:
    assert producer_settings(run(), "stranger-0") == STRICT


@pytest.mark.parametrize(
    ("config", "retries", "in_flight"),
    [
        ({}, True, 1_000_000),
        ({"retries": "0"}, False, 1_000_000),
        ({"message.send.max.retries": "0"}, False, 1_000_000),
        ({"max.in.flight": "1"}, True, 1),
    ],
)
def test_producer_settings_without_values_are_the_clients_defaults(
    config: dict[str, str], retries: bool, in_flight: int
) -> None:
    settings = producer_settings(run(acks="1", config=config), "p-0")
    assert (settings.acks, settings.retries, settings.in_flight) == ("1", retries, in_flight)


def test_producer_settings_with_transactions_are_idempotent() -> None:
    settings = producer_settings(run(transactional={"recordsPerTransaction": 5}), "p-0")
    assert settings.idempotent
    assert settings.in_flight == 5


@pytest.mark.parametrize(
    ("consumer", "broker", "session", "heartbeat"),
    [
        ({}, {}, 45, 3),
        ({"session.timeout.ms": "10000", "heartbeat.interval.ms": "1000"}, {}, 10, 1),
        ({"session.timeout.ms": "10000"}, {"group.consumer.session.timeout.ms": "20000"}, 10, 3),
        ({"group.protocol": "consumer"}, {}, 45, 5),
        (
            {"group.protocol": "consumer"},
            {
                "group.consumer.session.timeout.ms": "10000",
                "group.consumer.heartbeat.interval.ms": "2000",
            },
            10,
            2,
        ),
    ],
)
def test_session_of_a_group_is_set_by_brokers_with_the_consumer_protocol_alone(
    consumer: dict[str, str], broker: dict[str, str], session: int, heartbeat: int
) -> None:
    document = run().to_document() | {"brokerConfig": broker}
    reader = {"name": "c", "topics": ["t"], "group": "g", "config": consumer}
    document["spec"]["traffic"]["consumers"] = [reader]
    found = Plan.from_document(document)
    assert session_timeout(found, "g") == session * 1_000_000
    assert heartbeat_interval(found, "g") == heartbeat * 1_000_000
    assert handover_time(found, "g") == session * 1_000_000


@pytest.mark.parametrize(("text", "value"), [("", 0), ("a", 97), ("krt", 106_477), ("é", 233)])
def test_java_hash_text_gives_javas_value(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_java_hash_large_value_wraps_to_the_sign() -> None:
    assert java_hash("polygenelubricants") == -(2**31)
