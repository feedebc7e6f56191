"""Consumer groups of real KRaft clusters: both protocols, and coordinators that do not answer."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.contract.traffic.local_kafka import wait_until
from tests.contract.traffic.local_kraft import BROKERS, NEWEST, OLDEST

from krt_operator.errors import TransientError
from krt_operator.kafka.admin import KafkaAdmin
from krt_operator.kafka.reader import CLIENT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.traffic.local_kraft import LocalKraft

    from krt_operator.kafka.views import GroupView

TOPIC, PARTITIONS = "foo", 2
PROTOCOLS = {OLDEST: ("classic",), NEWEST: ("classic", "consumer")}
"""Version of Kafka to the protocols that its brokers have by default."""


@pytest.fixture(scope="module", autouse=True)
def topic(kraft: LocalKraft) -> None:
    kraft.create_topic(TOPIC, PARTITIONS)


@pytest.fixture
def admin(kraft: LocalKraft) -> Iterator[KafkaAdmin]:
    with KafkaAdmin(",".join(kraft.brokers)) as client:
        yield client


def joined(kraft: LocalKraft, group: str, **settings: str) -> Consumer:
    """A member of a group that owns every partition and has committed offset 0 of the first."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(kraft.brokers),
            "group.id": group,
            "client.id": "c-0",
            "enable.auto.commit": False,
            **settings,
        }
    )
    consumer.subscribe([TOPIC])

    def owns() -> bool:
        consumer.poll(0.1)
        return len(consumer.assignment()) == PARTITIONS

    wait_until("the member owns every partition", owns)
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 0)], asynchronous=False)
    return consumer


def described(kraft: LocalKraft, group: str) -> GroupView:
    with KafkaAdmin(",".join(kraft.brokers)) as client:
        return client.group(group)


def test_group_of_each_protocol_has_members_with_their_partitions(kraft: LocalKraft) -> None:
    for protocol in PROTOCOLS[kraft.version]:
        check_members(kraft, protocol)


def check_members(kraft: LocalKraft, protocol: str) -> None:
    group = f"g-{uuid4().hex[:8]}"
    consumer = joined(kraft, group, **{"group.protocol": protocol})
    wait_until("the group is stable", lambda: described(kraft, group).stable)
    found = described(kraft, group)
    assert [member.client_id for member in found.members] == ["c-0"]
    assert found.members[0].host == "127.0.0.1"
    assert found.members[0].partitions == tuple((TOPIC, n) for n in range(PARTITIONS))
    assert found.coordinator in BROKERS
    assert found.committed == {(TOPIC, 0): 0}
    consumer.close()
    left = described(kraft, group)
    assert (left.state, left.members, left.committed) == ("Empty", (), {(TOPIC, 0): 0})


def test_group_that_is_not_there_is_dead_and_no_error(kraft: LocalKraft) -> None:
    found = described(kraft, "nobody")
    assert (found.state, found.members, found.committed) == ("Dead", (), {})


def test_delete_groups_with_a_member_is_transient_and_without_deletes(
    kraft: LocalKraft, admin: KafkaAdmin
) -> None:
    group = f"g-{uuid4().hex[:8]}"
    consumer = joined(kraft, group)
    with pytest.raises(TransientError, match=rf"deleting group {group}.*NON_EMPTY_GROUP"):
        admin.delete_groups([group])
    consumer.close()
    admin.delete_groups([group, "never-there"])
    assert described(kraft, group).state == "Dead"


def test_group_of_a_frozen_coordinator_is_transient_within_the_time_limit(
    kraft: LocalKraft,
) -> None:
    group = f"g-{uuid4().hex[:8]}"
    joined(kraft, group).close()
    coordinator = described(kraft, group).coordinator
    kraft.signal(coordinator, signal.SIGSTOP)
    try:
        before = time.monotonic()
        with pytest.raises(TransientError, match=f"describing group {group}"):
            described(kraft, group)
        assert time.monotonic() - before < CLIENT_SECONDS + 2
    finally:
        kraft.signal(coordinator, signal.SIGCONT)
    wait_until("the coordinator answers again", lambda: answers(kraft, group))


def answers(kraft: LocalKraft, group: str) -> bool:
    try:
        return described(kraft, group).committed == {(TOPIC, 0): 0}
    except TransientError:
        return False
