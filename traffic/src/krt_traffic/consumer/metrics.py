"""The metrics of a consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaException, TopicPartition

from krt_contract.metrics import (
    ASSIGNED_PARTITIONS,
    CONSUMER_EVENTS,
    CONSUMER_LAG,
    DELIVERIES,
    END_TO_END_LATENCY,
)
from krt_traffic.clock import mono
from krt_traffic.metrics.families import distribution, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric as Family

    from krt_traffic.consumer.assignment import Assignment
    from krt_traffic.consumer.event_buffer import EventBuffer
    from krt_traffic.consumer.positions import Partition, Positions

LAG_MICROS: Final = 1_000_000
"""Microseconds between two readings of the lag."""


class Lag:
    """How far the owned partitions are behind their high watermarks.

    Read in the consumer's own thread, from what the client's last fetches brought along: no request
    is made, and a scrape never meets a client that is being closed.

    Args:
        positions: positions of the owned partitions, and the client.
        assignment: the ends that the client reported.

    Attributes:
        records: partition → offsets between position and high watermark. It is replaced, never
            changed.
    """

    def __init__(self, positions: Positions, assignment: Assignment) -> None:
        self.records: dict[Partition, int] = {}
        self._positions, self._assignment = positions, assignment
        self._read_at = 0

    def step(self) -> None:
        """Read the lag where it is time to; never blocks."""
        now = mono()
        if now < self._read_at:
            return
        self._read_at = now + LAG_MICROS
        found = {}
        for partition, position in self._positions.positions.items():
            high = self._high_watermark(partition)
            if high is not None:
                # Transaction markers are passed, not read.
                reached = max(position, self._assignment.ends.get(partition, position))
                found[partition] = max(high - reached, 0)
        self.records = found

    def _high_watermark(self, partition: Partition) -> int | None:
        client = self._positions.client
        try:
            offsets = client.get_watermark_offsets(TopicPartition(*partition), cached=True)
        except KafkaException:
            return None  # the client does not know the partition yet
        # Before its first fetch the client has none, and says so by a negative offset.
        return offsets[1] if offsets[1] >= 0 else None


class ConsumerMetrics:
    """Reads what buffer, positions and lag hold.

    Args:
        test: name of the test.
        member: identity in evidence of the pod.
        buffer: counts deliveries and events.
        positions: of the owned partitions.
        lag: read by the consumer.
    """

    def __init__(
        self, test: str, member: str, buffer: EventBuffer, positions: Positions, lag: Lag
    ) -> None:
        self._labels = (test, member, buffer.group)
        self._buffer, self._positions, self._lag = buffer, positions, lag

    def collect(self) -> Iterator[Family]:
        """Yield the metrics."""
        labels, buffer = self._labels, self._buffer
        yield values(DELIVERIES, [(labels, buffer.delivered)])
        counts = buffer.event_counts.items()
        yield values(CONSUMER_EVENTS, [((*labels, event), count) for event, count in counts])
        yield distribution(END_TO_END_LATENCY, labels, buffer.latency)
        lags = [
            ((*labels, topic, str(number)), records)
            for (topic, number), records in self._lag.records.items()
        ]
        yield values(CONSUMER_LAG, lags)
        yield values(ASSIGNED_PARTITIONS, [(labels, len(self._positions.positions))])
