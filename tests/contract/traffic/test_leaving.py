"""A group member that leaves while partitions are being assigned to it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest
from confluent_kafka import Consumer, ConsumerGroupState
from tests.contract.traffic.local_kafka import LocalKafka, wait_until

from krt_contract.clients import Commit
from krt_traffic.consumer.assignment import Assignment
from krt_traffic.consumer.commits import Commits
from krt_traffic.consumer.event_buffer import EventBuffer

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_leave_during_a_rebalance_ends_without_ownership(kafka: LocalKafka, strategy: str) -> None:
    group = f"leaving-{strategy}"
    kafka.create_topic(group, 3)
    buffer = EventBuffer("read-0", "u1", group, processes_at_once=True)
    commits = Commits(buffer, mock.Mock(), Commit.AFTER_PROCESSING)
    asked = mock.Mock(return_value=True)
    assignment = Assignment(
        buffer,
        commits,
        cooperative=strategy.startswith("cooperative"),
        aborted_within=asked,
        begin=lambda _topic, _partition: 0,
    )
    client = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "partition.assignment.strategy": strategy,
        }
    )
    commits.client = assignment.client = client
    counts: list[int] = []

    def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        counts.append(len(partitions))
        assignment.assigned(consumer, partitions)

    client.subscribe(
        [group], on_assign=assigned, on_revoke=assignment.revoked, on_lost=assignment.lost
    )
    admin = kafka.admin()

    def stable() -> bool:
        described = admin.describe_consumer_groups([group])[group].result()
        return bool(described.state == ConsumerGroupState.STABLE)

    # The client joins by itself; what it was given waits for the next poll, which is in leave().
    wait_until("the group is stable", stable)
    wait_until("it still is", stable)
    assignment.leave()
    assert counts == [3]
    asked.assert_not_called()
    assert not commits.positions
    assert "assigned" not in [row["event"] for row in buffer.events().to_pylist()]
