"""What each broker of a real KRaft cluster itself knows of topics."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from tests.contract.traffic.local_kafka import wait_until
from tests.contract.traffic.local_kraft import BROKERS

from krt_contract.entries import Topic
from krt_operator.errors import TransientError
from krt_operator.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from tests.contract.traffic.local_kraft import LocalKraft


def known(kraft: LocalKraft, *topics: str) -> Mapping[int, AbstractSet[tuple[str, int]]]:
    with KafkaAdmin(",".join(kraft.brokers)) as admin:
        return admin.led_partitions(topics)


def test_topic_that_is_not_there_is_unknown_and_not_created(kraft: LocalKraft) -> None:
    absent = f"t-{uuid4().hex[:8]}"
    assert known(kraft, absent) == {broker: set() for broker in BROKERS}
    with KafkaAdmin(",".join(kraft.brokers)) as admin:
        assert absent not in {partition.topic for partition in admin.view().partitions}


def test_topic_is_known_to_a_broker_without_a_replica_which_answers_itself_or_is_named(
    kraft: LocalKraft,
) -> None:
    name, (replica, other) = f"t-{uuid4().hex[:8]}", BROKERS
    with KafkaAdmin(",".join(kraft.brokers)) as admin:
        admin.create_topics([Topic(name, 2, 1, {}, {0: (replica,), 1: (replica,)})])
    both = {(name, 0), (name, 1)}

    def spread() -> bool:
        try:
            return known(kraft, name) == {replica: both, other: both}
        except TransientError:
            return False

    wait_until("both brokers know both partitions", spread)
    kraft.signal(other, signal.SIGSTOP)
    try:
        with pytest.raises(TransientError, match=f"what broker {other} knows of topics: 127"):
            known(kraft, name)
    finally:
        kraft.signal(other, signal.SIGCONT)
    wait_until("the broker answers again", spread)
