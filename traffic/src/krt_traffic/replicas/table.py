"""The rows of ``replica_log`` and ``replica_bounds``, in files of bounded size."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from krt_contract.schemas import REPLICA_BOUNDS, REPLICA_LOG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.sinks.sink import Sink
    from krt_traffic.replicas.lines import Batch, Record

ROWS_PER_FILE = 100_000
"""Rows collected before a file is written: some 60 MiB of Python objects."""


class Tables:
    """Both tables of one broker.

    Files of an earlier attempt of the same broker are removed first.

    Args:
        sink: the bundle they go to.
        member: name of the broker, the stem of its files.
        broker: its id.
    """

    def __init__(self, sink: Sink, member: str, broker: int) -> None:
        self._broker = broker
        self._columns: dict[str, list[Any]] = {name: [] for name in REPLICA_LOG.names}
        self._bounds: list[dict[str, Any]] = []
        for name in ("replica_log", "replica_bounds"):
            sink.clear(name, member)
        self._rows = sink.table("replica_log", member)
        self._ends = sink.table("replica_bounds", member)

    def add(self, topic: str, partition: int, batch: Batch, records: Mapping[int, Record]) -> int:
        """Take a batch: a row for each of its offsets; return how many.

        Args:
            topic: of the replica.
            partition: of the replica.
            batch: its header.
            records: those of its records that could be read, by offset.
        """
        count = batch.last - batch.base + 1
        same = {
            "broker": self._broker,
            "topic": topic,
            "partition": partition,
            "leader_epoch": batch.epoch,
            "batch": batch.base,
            "batch_last": batch.last,
            "size": batch.size,
            "crc": batch.crc,
            "valid": batch.valid,
        }
        columns = self._columns
        for name, value in same.items():
            columns[name].extend([value] * count)
        for offset in range(batch.base, batch.last + 1):
            record = records.get(offset)
            payload = record.payload if record else None
            columns["offset"].append(offset)
            columns["control"].append(record.marker if record else None)
            columns["run_uid"].append(payload and sys.intern(payload.run_uid))
            columns["producer"].append(payload and sys.intern(payload.producer))
            columns["producer_incarnation"].append(
                payload and sys.intern(payload.producer_incarnation)
            )
            columns["seq"].append(payload and payload.seq)
        if len(columns["offset"]) >= ROWS_PER_FILE:
            self._flush()
        return count

    def bound(self, **bounds: Any) -> None:
        """Take the bounds of one replica; the columns of ``replica_bounds`` but ``broker``."""
        self._bounds.append({"broker": self._broker, **bounds})

    def close(self) -> None:
        """Write the rest, the bounds last: where those are, the rows are."""
        self._flush()
        names = REPLICA_BOUNDS.names
        self._ends.write({name: [row[name] for row in self._bounds] for name in names})

    def _flush(self) -> None:
        self._rows.write(self._columns)
        self._columns = {name: [] for name in REPLICA_LOG.names}
