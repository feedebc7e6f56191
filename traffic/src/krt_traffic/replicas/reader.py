"""From the lines of the dump to rows: the replica, batch and record of each line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from krt_traffic.replicas import lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_traffic.replicas.table import Tables

_BEGIN = re.compile(r"krt partition (?P<topic>\S+) (?P<partition>\d+) (?P<segments>\d+)")
_END = re.compile(r"krt end (?P<code>\d+)(?: (?P<why>.*))?")
_DONE = "krt done"
"""The lines of ``dump.sh`` itself."""

_SEGMENT = re.compile(r"Log starting offset: (?P<base>\d+)")
"""The tool's line about each segment, before its batches."""


@dataclass(slots=True)
class _Replica:
    """The replica being read, as far as it is known."""

    topic: str
    partition: int
    segments: int
    dumped: int = 0
    start: int | None = None
    end: int = 0
    rows: int = 0
    problems: list[str] = field(default_factory=list)


class Reader:
    """Takes the dump of one broker, line by line.

    Args:
        tables: where rows go.
        clock: gives UTC microseconds.

    Attributes:
        done: whether the dump ended with its last line.
        replicas: number of replicas read.
        rows: number of offsets in them.
        problems: ``topic-partition: what was wrong``, a sentence each.
    """

    def __init__(self, tables: Tables, clock: Callable[[], int]) -> None:
        self._tables, self._clock = tables, clock
        self._replica: _Replica | None = None
        self._batch: lines.Batch | None = None
        self._records: dict[int, lines.Record] = {}
        self._next = 0
        self.done = False
        self.replicas = 0
        self.rows = 0
        self.problems: list[str] = []

    def take(self, line: str) -> None:
        """Take one line, without its end."""
        batch = self._batch
        if batch is not None:
            found = lines.record(line, control=batch.control)
            if found is not None and self._next <= found.offset <= batch.last:
                self._records[found.offset] = found
                self._next = found.offset + 1
                return
        header = lines.batch(line)
        if header is not None:
            self._end_batch()
            self._batch, self._next = header, header.base
        elif (begin := _BEGIN.fullmatch(line)) is not None:
            self._end_batch()
            replica = begin["topic"], int(begin["partition"]), int(begin["segments"])
            self._replica = _Replica(*replica)
        elif line == _DONE:
            self._end_batch()
            self.done = True
        elif self._replica is not None:
            # A line that fits nowhere continues the text of a record.
            self._of_replica(self._replica, line)

    def close(self) -> None:
        """End a replica that the dump broke off within, and write the last rows."""
        self._end_batch()
        if self._replica is not None:
            self._replica.problems.append("the dump broke off")
            self._end_replica()
        self._tables.close()

    def _of_replica(self, replica: _Replica, line: str) -> None:
        if (segment := _SEGMENT.fullmatch(line)) is not None:
            self._end_batch()
            base = int(segment["base"])
            replica.dumped += 1
            replica.start = base if replica.start is None else replica.start
            replica.end = max(replica.end, base)
        elif (trailing := lines.trailing(line)) is not None:
            self._end_batch()
            replica.problems.append(trailing)
        elif (end := _END.fullmatch(line)) is not None:
            self._end_batch()
            if end["code"] != "0":
                why = end["why"] or "it printed no error"
                replica.problems.append(f"DumpLogSegments ended with {end['code']}: {why}")
            elif replica.dumped != replica.segments:
                replica.problems.append(
                    f"{replica.dumped} of {replica.segments} segments were dumped"
                )
            self._end_replica()

    def _end_batch(self) -> None:
        batch, self._batch = self._batch, None
        replica, records = self._replica, self._records
        if batch is None or replica is None:
            return
        self._records = {}
        replica.rows += self._tables.add(replica.topic, replica.partition, batch, records)
        replica.end = max(replica.end, batch.last + 1)
        if batch.valid and len(records) != batch.count:
            replica.problems.append(
                f"{len(records)} of {batch.count} records of the batch at {batch.base} were printed"
            )

    def _end_replica(self) -> None:
        replica, self._replica = self._replica, None
        if replica is None:
            return
        self._tables.bound(
            topic=replica.topic,
            partition=replica.partition,
            taken_at=self._clock(),
            log_start=replica.start or 0,
            log_end=replica.end,
            rows=replica.rows,
            problem="; ".join(replica.problems) or None,
        )
        self.replicas += 1
        self.rows += replica.rows
        name = f"{replica.topic}-{replica.partition}"
        self.problems += [f"{name}: {problem}" for problem in replica.problems]
