from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from krt_traffic.consumer.commits import event_of


@pytest.mark.parametrize(
    ("code", "event"),
    [
        (None, "committed"),
        (KafkaError.ILLEGAL_GENERATION, "commit_failed"),
        (KafkaError.STALE_MEMBER_EPOCH, "commit_failed"),
        (KafkaError.FENCED_MEMBER_EPOCH, "commit_failed"),
        (KafkaError.REBALANCE_IN_PROGRESS, "commit_failed"),
        (KafkaError.REQUEST_TIMED_OUT, "commit_unknown"),
        (KafkaError._TRANSPORT, "commit_unknown"),  # noqa: SLF001 - no public name
        (KafkaError.NOT_COORDINATOR, "commit_unknown"),
    ],
)
def test_event_of_a_commit_is_failed_only_where_the_coordinator_refused(
    code: int | None, event: str
) -> None:
    assert event_of(code) == event
