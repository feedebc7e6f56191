"""Members of a group with the protocol of KIP-848, on a real KRaft cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest
from confluent_kafka import Consumer
from tests.contract.traffic.local_kafka import wait_until
from tests.contract.traffic.local_kraft import NEWEST, LocalKraft, lent

from krt_contract.clients import Commit
from krt_contract.outcomes import ConsumerEvent
from krt_traffic.consumer.assignment import Assignment
from krt_traffic.consumer.commits import Commits
from krt_traffic.consumer.event_buffer import EventBuffer
from krt_traffic.consumer.settings import cooperative

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC, PARTITIONS = "foo", 4


@pytest.fixture(scope="module")
def kraft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKraft]:
    with lent(tmp_path_factory.mktemp("kraft"), NEWEST) as local:
        # Those of the scenario rebalance-consumer-protocol: Kafka's default is 45 s, and no less.
        local.settings |= {
            "group.consumer.session.timeout.ms": "10000",
            "group.consumer.min.session.timeout.ms": "10000",
            "group.consumer.heartbeat.interval.ms": "5000",
        }
        local.start()
        local.create_topic(TOPIC, PARTITIONS)
        yield local


class Member:
    """What an incarnation of a consumer is made of, without its ledger and its records."""

    def __init__(self, kraft: LocalKraft, name: str) -> None:
        settings = {
            "bootstrap.servers": ",".join(kraft.brokers),
            "group.id": "readers",
            "group.protocol": "consumer",
        }
        self.buffer = EventBuffer(name, f"u-{name}", "readers", processes_at_once=True)
        self.commits = Commits(self.buffer, mock.Mock(), Commit.AFTER_PROCESSING)
        self.assignment = Assignment(
            self.buffer,
            self.commits,
            cooperative=cooperative(settings),
            aborted_within=mock.Mock(return_value=True),
            begin=lambda _topic, _partition: 0,
        )
        self.client = Consumer(settings)
        self.commits.client = self.assignment.client = self.client
        self.client.subscribe(
            [TOPIC],
            on_assign=self.assignment.assigned,
            on_revoke=self.assignment.revoked,
            on_lost=self.assignment.lost,
        )

    @property
    def owned(self) -> set[int]:
        return {partition for _, partition in self.commits.positions}

    def generations(self) -> list[int | None]:
        rows = self.buffer.events().to_pylist()
        return [row["generation"] for row in rows if row["event"] == ConsumerEvent.ASSIGNED]


@pytest.fixture
def members(kraft: LocalKraft) -> Iterator[list[Member]]:
    """The first member of a group; those in the list in the end are closed."""
    found = [Member(kraft, "one")]
    yield found
    for member in found:
        member.client.close()


def test_partitions_move_one_by_one_and_every_assignment_has_its_generation(
    kraft: LocalKraft, members: list[Member]
) -> None:
    (one,) = members

    def owned() -> list[set[int]]:
        for member in members:
            member.client.poll(0.05)
        return [member.owned for member in members]

    every = set(range(PARTITIONS))
    wait_until("the first member owns all partitions", lambda: owned() == [every])
    two = Member(kraft, "two")
    members.append(two)
    wait_until("each member owns two", lambda: sorted(map(len, owned())) == [2, 2])
    assert one.owned | two.owned == every
    first, *_ = one.generations()
    assert None not in (first, *two.generations())
    assert all(found > first for found in two.generations() if found is not None and first)
    members.pop().assignment.leave()
    wait_until("the first member owns all partitions again", lambda: owned() == [every])
