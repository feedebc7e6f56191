"""What a group member does with the partitions that it is assigned."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from krt_contract.clients import Commit
from krt_contract.outcomes import ConsumerEvent
from krt_traffic.consumer.assignment import Assignment
from krt_traffic.consumer.commits import Commits
from krt_traffic.consumer.event_buffer import EventBuffer
from krt_traffic.consumer.start_offsets import PAUSE_SECONDS
from krt_traffic.ledger_thread import LedgerThread

if TYPE_CHECKING:
    from collections.abc import Callable

DESTROYED = KafkaException(KafkaError(KafkaError._DESTROY))  # noqa: SLF001 - no public name


def never(_: float) -> bool:
    return False


def nothing_before(_topic: str, _partition: int) -> int:
    return 0


def begin_of(topic: str, partition: int) -> int:
    return {("foo", 0): 40}[topic, partition]


def assignment_of(
    waits: mock.Mock | None = None,
    *,
    cooperative: bool = False,
    begin: Callable[[str, int], int] = nothing_before,
) -> tuple[Assignment, EventBuffer]:
    buffer = EventBuffer("read-0", "u1", "g", processes_at_once=True)
    commits = Commits(buffer, mock.Mock(spec=LedgerThread), Commit.AFTER_PROCESSING)
    assignment = Assignment(
        buffer, commits, cooperative=cooperative, aborted_within=waits or never, begin=begin
    )
    return assignment, buffer


def group_client() -> mock.Mock:
    client = mock.Mock(spec=Consumer)
    client.memberid.return_value = "m"
    return client


def leaving() -> tuple[Assignment, mock.Mock]:
    assignment, _ = assignment_of()
    assignment.client = client = group_client()
    return assignment, client


@pytest.mark.parametrize("request_name", ["committed", "get_watermark_offsets"])
def test_assigned_with_a_request_refused_at_once_pauses_before_it_is_repeated(
    request_name: str,
) -> None:
    waits = mock.Mock(return_value=False)
    assignment, buffer = assignment_of(waits)
    client = group_client()
    answers = {
        "committed": [TopicPartition("foo", 0, -1001)],
        "get_watermark_offsets": (7, 9),
    }
    for name, answer in answers.items():
        refused = [DESTROYED, DESTROYED] if name == request_name else []
        getattr(client, name).side_effect = [*refused, answer]
    assignment.assigned(client, [TopicPartition("foo", 0)])
    waited = [call.args[0] for call in waits.call_args_list]
    assert sorted(waited) == [0.0, 0.0, PAUSE_SECONDS, PAUSE_SECONDS]
    assert [(row["event"], row["offset"]) for row in buffer.events().to_pylist()] == [
        ("assigned", 7)
    ]


@pytest.mark.parametrize(
    ("committed", "log_start", "start"), [(-1001, 3, 40), (-1001, 45, 45), (42, 3, 42)]
)
def test_assigned_of_an_adopted_topic_starts_where_the_run_began(
    committed: int, log_start: int, start: int
) -> None:
    assignment, buffer = assignment_of(begin=begin_of)
    client = group_client()
    client.committed.return_value = [TopicPartition("foo", 0, committed)]
    client.get_watermark_offsets.return_value = (log_start, 90)
    assignment.assigned(client, [TopicPartition("foo", 0)])
    (taken,) = client.assign.call_args.args[0]
    assert taken.offset == start
    assert [(row["event"], row["offset"]) for row in buffer.events().to_pylist()] == [
        ("assigned", start)
    ]


def test_assigned_while_no_broker_answers_starts_where_the_run_began() -> None:
    waits = mock.Mock(side_effect=[False, False, False, True])
    assignment, buffer = assignment_of(waits, begin=begin_of)
    client = group_client()
    client.committed.return_value = [TopicPartition("foo", 0, -1001)]
    client.get_watermark_offsets.side_effect = DESTROYED
    assignment.assigned(client, [TopicPartition("foo", 0)])
    assert [row["offset"] for row in buffer.events().to_pylist()] == [40]


@pytest.mark.parametrize("cooperative", [False, True])
def test_assigned_while_closing_owns_nothing_and_asks_no_broker(*, cooperative: bool) -> None:
    assignment, buffer = assignment_of(cooperative=cooperative)
    client = group_client()
    client.committed.side_effect = DESTROYED
    assignment.closing = True
    partitions = [TopicPartition("foo", 0)]
    assignment.assigned(client, partitions)
    # The client waits for an answer, whatever it is.
    answered = client.incremental_assign if cooperative else client.assign
    answered.assert_called_once_with(partitions)
    client.committed.assert_not_called()
    assert buffer.events().num_rows == 0
    assert assignment.changes == 0


def test_leave_closes_the_client_after_it_has_left_the_group() -> None:
    assignment, client = leaving()
    client.memberid.side_effect = ["m", "m", ""]
    assignment.leave()
    assert [call[0] for call in client.method_calls] == [
        "unsubscribe",
        *["memberid", "poll"] * 2,
        "memberid",
        "close",
    ]


def test_leave_with_an_assignment_under_way_does_not_own_it() -> None:
    assignment, client = leaving()
    client.memberid.side_effect = ["m", ""]
    partitions = [TopicPartition("foo", 0)]
    client.poll.side_effect = lambda _: assignment.assigned(client, partitions)
    assignment.leave()
    client.assign.assert_called_once_with(partitions)
    client.committed.assert_not_called()


@pytest.mark.parametrize("refused", ["unsubscribe", "poll"])
def test_leave_with_a_client_that_is_over_closes_at_once(refused: str) -> None:
    assignment, client = leaving()
    getattr(client, refused).side_effect = DESTROYED
    assignment.leave()
    client.close.assert_called_once_with()


def test_leave_that_never_ends_closes_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assignment, client = leaving()
    monkeypatch.setattr("krt_traffic.consumer.assignment.LEAVE_SECONDS", 0.02)
    client.poll.side_effect = time.sleep
    assignment.leave()
    client.close.assert_called_once_with()


def test_assigned_events_carry_the_generation_until_ownership_is_lost() -> None:
    assignment, buffer = assignment_of()
    assignment.client = client = group_client()
    client.committed.return_value = [TopicPartition("foo", 0, 3)]
    for generation in (b"\x04", b"\x05"):
        client.consumer_group_metadata.return_value = (
            b"CGMDv2:" + generation + b"\x00\x00\x00g\0m\0\x01"
        )
        assignment.assigned(client, [TopicPartition("foo", 0)])
    assignment.lost(client, [TopicPartition("foo", 0)])
    buffer.event(ConsumerEvent.CLOSED)
    assert [(row["event"], row["generation"]) for row in buffer.events().to_pylist()] == [
        ("assigned", 4),
        ("assigned", 5),
        ("lost", 5),
        ("closed", None),
    ]
