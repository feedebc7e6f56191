from __future__ import annotations

import pytest

from krt_contract.plan import Plan
from krt_scoring.allowances.offsets import java_hash
from krt_scoring.allowances.settings import STRICT, of_identity


def run(**producer: object) -> Plan:
    return Plan.from_document(
        {
            "schemaVersion": 2,
            "run": {"namespace": "n", "name": "t", "uid": "u", "seed": 1},
            "spec": {"traffic": {"producers": [{"name": "p", "topic": "t", **producer}]}},
            "topics": [{"name": "t", "partitions": 1, "replicationFactor": 3}],
        }
    )


def test_a_producer_nobody_planned_is_permitted_nothing() -> None:
    assert of_identity(run(), "stranger-0") == STRICT


@pytest.mark.parametrize(
    ("config", "retries", "in_flight"),
    [
        ({}, True, 1_000_000),
        ({"retries": "0"}, False, 1_000_000),
        ({"message.send.max.retries": "0"}, False, 1_000_000),
        ({"max.in.flight": "1"}, True, 1),
    ],
)
def test_the_client_defaults_hold_where_nothing_is_set(
    config: dict[str, str], retries: bool, in_flight: int
) -> None:
    settings = of_identity(run(acks="1", config=config), "p-0")
    assert (settings.acks, settings.retries, settings.in_flight) == ("1", retries, in_flight)


def test_transactions_imply_idempotence() -> None:
    settings = of_identity(run(transactional={"recordsPerTransaction": 5}), "p-0")
    assert settings.idempotent
    assert settings.in_flight == 5


@pytest.mark.parametrize(("text", "value"), [("", 0), ("a", 97), ("krt", 106_477), ("é", 233)])
def test_java_hash(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_java_hash_wraps_to_the_sign() -> None:
    assert java_hash("polygenelubricants") == -(2**31)
