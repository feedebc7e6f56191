from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException
from tests.unit.traffic.transaction_doubles import ABORT, FENCED, TIMED_OUT, open_transaction

from krt_traffic.errors import FatalClientError
from krt_traffic.sending.transaction_manager import LAST_CALL_SECONDS


@pytest.mark.parametrize(
    ("answers", "outcome", "send"),
    [
        ([None], "committed", "acked"),
        ([TIMED_OUT, None], "committed", "acked"),
        ([ABORT, None], "aborted", "failed"),
        ([TIMED_OUT, ABORT, TIMED_OUT, None], "aborted", "failed"),
    ],
)
def test_commit_with_unclear_answers_goes_on_until_it_is_decided(
    answers: list[KafkaError | None], outcome: str, send: str
) -> None:
    manager, records, _, _ = open_transaction(*answers)
    assert manager.commit() == outcome
    (row,) = records.snapshot()[0].to_pylist()
    assert (row["outcome"], row["transaction_outcome"]) == (send, outcome)


def test_commit_with_refused_offsets_aborts_their_transaction() -> None:
    manager, records, client, _ = open_transaction()
    asked = []

    def offsets(seconds: float) -> None:
        asked.append(seconds)
        raise KafkaException(TIMED_OUT if len(asked) == 1 else ABORT)

    assert manager.commit(offsets) == "aborted"
    assert len(asked) == 2
    assert client.names == ["begin", "abort"]
    assert records.counts["failed"] == 1


def test_commit_after_waiting_was_stopped_still_tries_once_and_briefly() -> None:
    manager, records, client, _ = open_transaction(TIMED_OUT, stop_waiting=True)
    assert manager.commit() == "unknown"
    assert client.calls == [("begin",), ("commit", LAST_CALL_SECONDS)]
    assert records.counts["unknown"] == 1


def test_commit_of_a_fenced_producer_raises_and_leaves_its_sends_unknown() -> None:
    manager, records, _, _ = open_transaction(FENCED)
    with pytest.raises(FatalClientError, match="_FENCED"):
        manager.commit()
    assert records.counts["unknown"] == 1


def test_abort_with_unanswered_sends_aborts_all_the_same() -> None:
    manager, _, client, sender = open_transaction(stop_waiting=True, flushes=9)
    assert manager.abort(manager.await_answers) == "aborted"
    assert sender.flushes == 8
    assert client.names == ["begin", "abort"]
