"""Acknowledged sends outside transactions: packed when they come, columns when they are flushed.

They are nearly all rows of a producer. As objects they cost the ledger's thread a microsecond each,
of an interpreter that both threads share; of packed rows, it cuts out columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from krt_traffic.producer.schedule import Schedule

NO_OFFSET: Final = -1
"""In place of the offset that a broker did not say."""

ROW: Final = Struct("6q")
"""A row: seq; when it was sent, by both clocks; when it was acknowledged, by both; offset."""

PACK: Final = ROW.pack
FIELDS: Final = 6


@dataclass(frozen=True, slots=True)
class Columns:
    """Sends that are done, or reported as unknown so far, as columns of int64 of one length.

    Attributes:
        seq, offset: of each; ``offset`` null where it is not known.
        sent_at, sent_mono, done_at, done_mono: UTC and monotonic microseconds.
    """

    seq: pa.Int64Array
    sent_at: pa.Int64Array
    sent_mono: pa.Int64Array
    done_at: pa.Int64Array
    done_mono: pa.Int64Array
    offset: pa.Int64Array

    def __len__(self) -> int:
        """How many there are."""
        return len(self.seq)

    def scheduled_at(self, schedule: Schedule | None) -> pa.Int64Array:
        """Return when each was due, UTC microseconds; when it was sent where nothing is due."""
        if schedule is None:
            return self.sent_at
        # Both clocks as read at the send, so that sent_at - scheduled_at is a true duration.
        return pc.add(pc.subtract(schedule.at_all(self.seq), self.sent_mono), self.sent_at)

    def latencies(self, schedule: Schedule | None) -> pa.Int64Array:
        """Return the microseconds from when each was due, or sent, to its outcome."""
        due = self.sent_mono if schedule is None else schedule.at_all(self.seq)
        return pc.subtract(self.done_mono, due)


class Acknowledgements:
    """Those that no flush has taken.

    One thread adds, another takes, without a lock: adding appends a row's bytes in one step of the
    interpreter, and taking copies and deletes from the front, each in one.

    Attributes:
        packed: the rows; whoever adds extends it by ``PACK`` of the six fields.
    """

    def __init__(self) -> None:
        self.packed = bytearray()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.packed) // ROW.size

    def take(self) -> Columns:
        """Take all rows, as columns."""
        taken = self.packed[:]
        del self.packed[: len(taken)]
        values = memoryview(taken).cast("q")

        def column(index: int) -> pa.Int64Array:
            buffer = pa.py_buffer(values[index::FIELDS].tobytes())
            return pa.Array.from_buffers(pa.int64(), len(values) // FIELDS, [None, buffer])

        offset = column(5)
        return Columns(
            seq=column(0),
            sent_at=column(1),
            sent_mono=column(2),
            done_at=column(3),
            done_mono=column(4),
            offset=pc.if_else(pc.equal(offset, NO_OFFSET), None, offset),
        )
