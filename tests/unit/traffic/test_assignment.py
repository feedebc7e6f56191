"""What a member does with the partitions it is told to take."""

from __future__ import annotations

import time
from unittest import mock

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from krt_contract.clients import Commit
from krt_traffic.consumer.assignment import PAUSE_SECONDS, Assignment
from krt_traffic.consumer.commits import Commits
from krt_traffic.consumer.event_buffer import Journal

DESTROYED = KafkaException(KafkaError(KafkaError._DESTROY))  # noqa: SLF001 - no public name


def _assignment(given_up: mock.Mock, *, cooperative: bool = False) -> tuple[Assignment, Journal]:
    journal = Journal("read-0", "u1", "g", processes_at_once=True)
    commits = Commits(journal, mock.Mock(), Commit.AFTER_PROCESSING)
    return Assignment(journal, commits, cooperative=cooperative, given_up=given_up), journal


def _client() -> mock.Mock:
    client = mock.Mock(spec=Consumer)
    client.memberid.return_value = "m"
    return client


@pytest.mark.parametrize("question", ["committed", "get_watermark_offsets"])
def test_what_is_refused_at_once_is_not_asked_again_at_once(question: str) -> None:
    stops = mock.Mock(return_value=False)
    assignment, journal = _assignment(stops)
    client = _client()
    answers = {
        "committed": [TopicPartition("foo", 0, -1001)],
        "get_watermark_offsets": (7, 9),
    }
    for name, answer in answers.items():
        refused = [DESTROYED, DESTROYED] if name == question else []
        getattr(client, name).side_effect = [*refused, answer]
    assignment.assigned(client, [TopicPartition("foo", 0)])
    waited = [call.args[0] for call in stops.call_args_list]
    assert sorted(waited) == [0.0, 0.0, PAUSE_SECONDS, PAUSE_SECONDS]
    assert [(row["event"], row["offset"]) for row in journal.events().to_pylist()] == [
        ("assigned", 7)
    ]


@pytest.mark.parametrize("cooperative", [False, True])
def test_who_leaves_takes_nothing_and_asks_nobody(*, cooperative: bool) -> None:
    assignment, journal = _assignment(mock.Mock(return_value=False), cooperative=cooperative)
    client = _client()
    client.committed.side_effect = DESTROYED
    assignment.closing = True
    told = [TopicPartition("foo", 0)]
    assignment.assigned(client, told)
    # The client waits for an answer, whatever it is.
    answered = client.incremental_assign if cooperative else client.assign
    answered.assert_called_once_with(told)
    client.committed.assert_not_called()
    assert journal.events().num_rows == 0
    assert assignment.changes == 0


def _leaving() -> tuple[Assignment, mock.Mock]:
    assignment, _ = _assignment(mock.Mock(return_value=False))
    assignment.client = client = _client()
    return assignment, client


def test_it_has_left_before_it_closes() -> None:
    assignment, client = _leaving()
    client.memberid.side_effect = ["m", "m", ""]
    assignment.leave()
    assert [call[0] for call in client.method_calls] == [
        "unsubscribe",
        *["memberid", "poll"] * 2,
        "memberid",
        "close",
    ]


def test_what_is_assigned_while_it_leaves_is_not_taken_for_owned() -> None:
    assignment, client = _leaving()
    client.memberid.side_effect = ["m", ""]
    told = [TopicPartition("foo", 0)]
    client.poll.side_effect = lambda _: assignment.assigned(client, told)
    assignment.leave()
    client.assign.assert_called_once_with(told)
    client.committed.assert_not_called()


@pytest.mark.parametrize("refused", ["unsubscribe", "poll"])
def test_a_client_that_is_over_closes_at_once(refused: str) -> None:
    assignment, client = _leaving()
    getattr(client, refused).side_effect = DESTROYED
    assignment.leave()
    client.close.assert_called_once_with()


def test_it_closes_in_time_even_where_it_does_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    assignment, client = _leaving()
    monkeypatch.setattr("krt_traffic.consumer.assignment.LEAVE_SECONDS", 0.02)
    client.poll.side_effect = time.sleep
    assignment.leave()
    client.close.assert_called_once_with()
