from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from krt_operator.errors import TransientError
from krt_operator.kafka.groups import Coordinators

if TYPE_CHECKING:
    from krt_contract.kafka_connection import Connection


def asked(deadline: float) -> list[str]:
    """Which brokers are asked who coordinates a group, where none of them answers."""
    found: list[str] = []

    def connect(address: str) -> Connection:
        found.append(address)
        raise TimeoutError("timed out")

    coordinators = Coordinators(["kafka-0:9092", "kafka-1:9092"], connect, deadline)
    with pytest.raises(TransientError, match="describing group g"):
        coordinators.describe("g")
    return found


def test_describe_asks_every_broker_until_one_answers() -> None:
    assert asked(time.monotonic() + 60) == ["kafka-0:9092", "kafka-1:9092"]


def test_describe_after_the_deadline_asks_nobody() -> None:
    assert asked(time.monotonic() - 1) == []
