"""The metrics of a member's sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.metrics import (
    OPEN_OUTAGES,
    PRODUCE_LATENCY,
    PRODUCER_WAIT,
    SENDS,
    SENDS_ATTEMPTED,
    SENDS_IN_FLIGHT,
)
from krt_traffic.clock import SECOND_MICROS, mono
from krt_traffic.metrics.families import distribution, values
from krt_traffic.sending.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric as Family

    from krt_traffic.sending.records import Records
    from krt_traffic.sending.sender import Sender


class SendMetrics:
    """Reads what records and sender count.

    Args:
        test: name of the test.
        member: identity in evidence of the pod.
        records: the sends.
        sender: sends them.
    """

    def __init__(self, test: str, member: str, records: Records, sender: Sender) -> None:
        self._labels = (test, member)
        self._records, self._sender = records, sender
        self._waits = Waits(records.partitions)

    def update(self) -> None:
        """Take the waits as they are now; for the ledger's thread, after each snapshot."""
        acked = self._sender.acked_offsets
        # Without acknowledgements (acks=0) nothing is waited for.
        if acked is not None:
            self._waits.update(mono(), self._records.unacknowledged, acked)

    def collect(self) -> Iterator[Family]:
        """Yield the metrics."""
        labels, records = self._labels, self._records
        yield values(SENDS_ATTEMPTED, [(labels, records.attempted)])
        counts = records.counts.items()
        yield values(SENDS, [((*labels, outcome), count) for outcome, count in counts])
        yield values(SENDS_IN_FLIGHT, [(labels, len(records.in_flight))])
        yield distribution(PRODUCE_LATENCY, labels, records.latency)
        waits = [
            ((*labels, records.topic, str(partition)), wait / SECOND_MICROS)
            for partition, wait in self._waits.micros.items()
        ]
        yield values(PRODUCER_WAIT, waits)
        yield values(OPEN_OUTAGES, [(labels, self._waits.outages)])
