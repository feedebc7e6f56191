from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from krt_operator.errors import TransientError
from krt_operator.kafka.topic_metadata import led_partitions

if TYPE_CHECKING:
    from krt_contract.kafka_connection import Connection

ADDRESSES = {1: "kafka-1:9092", 0: "kafka-0:9092"}


def asked(deadline: float, match: str) -> list[str]:
    """Which brokers are asked, where none of them answers."""
    found: list[str] = []

    def connect(address: str) -> Connection:
        found.append(address)
        raise TimeoutError("timed out")

    with pytest.raises(TransientError, match=match):
        led_partitions(ADDRESSES, ["foo"], connect, deadline)
    return found


def test_broker_that_does_not_answer_is_named_and_ends_the_reading() -> None:
    match = "what broker 0 knows of topics: kafka-0:9092 did not answer: timed out"
    assert asked(time.monotonic() + 60, match) == ["kafka-0:9092"]


def test_reading_after_the_deadline_asks_nobody() -> None:
    assert asked(time.monotonic() - 1, "no time left to ask it") == []
