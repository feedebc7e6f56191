from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from tests.unit.traffic.scrapes import scrape

from krt_contract.metrics import CONSUMER_METRICS, MEMBER_METRICS
from krt_contract.outcomes import ConsumerEvent
from krt_traffic.clock import wall
from krt_traffic.consumer import metrics as module
from krt_traffic.consumer.event_buffer import EventBuffer
from krt_traffic.consumer.metrics import ConsumerMetrics, Lag
from krt_traffic.metrics.ledger import LedgerMetrics

if TYPE_CHECKING:
    import pytest


class Client:
    """Knows the high watermarks that its fetches brought along."""

    def __init__(self, high: dict[int, int]) -> None:
        self.high = high

    def get_watermark_offsets(self, item: TopicPartition, *, cached: bool) -> tuple[int, int]:
        assert cached
        if item.partition not in self.high:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
        return (0, self.high[item.partition])


def lag(
    owned: dict[int, int], high: dict[int, int], ends: dict[int, int] | None = None
) -> tuple[Lag, Any]:
    positions: Any = SimpleNamespace(
        positions={("foo", number): at for number, at in owned.items()}, client=Client(high)
    )
    assignment: Any = SimpleNamespace(
        ends={("foo", number): end for number, end in (ends or {}).items()}
    )
    return Lag(positions, assignment), positions


def buffer() -> EventBuffer:
    return EventBuffer("read-0", "u1", "g", processes_at_once=True)


def created(at: int, kind: int = TIMESTAMP_CREATE_TIME) -> Message:
    return Message(topic="foo", partition=0, offset=5, value=b"x", timestamp=(kind, at // 1000))


def test_lag_is_the_distance_to_the_high_watermark_beyond_markers_that_were_passed() -> None:
    tested, _ = lag({0: 5, 1: 5, 2: 9}, {0: 8, 1: 6, 2: 9}, ends={1: 6})
    tested.step()
    assert tested.records == {("foo", 0): 3, ("foo", 1): 0, ("foo", 2): 0}


def test_lag_of_a_partition_that_was_not_fetched_yet_is_left_out() -> None:
    tested, _ = lag({0: 5, 1: 5}, {0: -1001})
    tested.step()
    assert tested.records == {}


def test_lag_is_read_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(module, "mono", lambda: now[0])
    tested, positions = lag({0: 5}, {0: 8})
    for now[0], high, expected in ((0, 8, 3), (999_999, 9, 3), (1_000_000, 9, 4)):
        positions.client.high = {0: high}
        tested.step()
        assert tested.records == {("foo", 0): expected}


def test_latency_counts_from_the_timestamp_that_the_producer_gave() -> None:
    tested = buffer()
    tested.deliver(created(wall() - 2_000_000), 0)
    tested.deliver(created(wall(), TIMESTAMP_LOG_APPEND_TIME), 1)
    tested.deliver(Message(topic="foo", partition=0, offset=7, value=b"x"), 2)
    assert tested.latency.read()[1] == 0
    tested.deliveries()
    _, count, micros = tested.latency.read()
    assert count == 1
    assert 2_000_000 <= micros < 3_000_000


def test_deliveries_events_and_lag_are_those_of_the_member() -> None:
    rows = buffer()
    rows.deliver(created(wall()), 0)
    rows.event(ConsumerEvent.COMMITTED, "foo", 0, 6)
    rows.event(ConsumerEvent.COMMITTED, "foo", 1, 6)
    behind, positions = lag({0: 5}, {0: 8})
    behind.step()
    found = scrape(ConsumerMetrics("t", "read-0", rows, positions, behind))
    assert found["krt_consumer_deliveries_total{t,read-0,g}"] == 1
    assert found["krt_consumer_events_total{t,read-0,g,committed}"] == 2
    assert found["krt_consumer_events_total{t,read-0,g,lost}"] == 0
    assert found["krt_consumer_lag_records{t,read-0,g,foo,0}"] == 3
    assert found["krt_consumer_assigned_partitions{t,read-0,g}"] == 1


def test_metrics_are_those_of_the_contract() -> None:
    behind, positions = lag({}, {})
    tested = (
        ConsumerMetrics("t", "read-0", buffer(), positions, behind),
        LedgerMetrics("t", "read-0", lambda: 7),
    )
    assert {family.name for source in tested for family in source.collect()} == {
        metric.name.removesuffix("_total") for metric in (*CONSUMER_METRICS, *MEMBER_METRICS)
    }
    assert scrape(tested[1]) == {"krt_ledger_waiting_bytes{t,read-0}": 7}
