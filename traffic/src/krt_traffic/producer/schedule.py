"""The open-loop schedule: when each record is due, whatever happens to those before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from krt_traffic.clock import SECOND_MICROS

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Schedule:
    """Records at a fixed rate from a start on.

    Attributes:
        start: monotonic microseconds at which record 0 is due.
        rate: records a second, at least 1.
    """

    start: int
    rate: int

    def due(self, now: int) -> int:
        """Return how many records are due up to and including ``now`` (monotonic µs)."""
        if now < self.start:
            return 0
        return (now - self.start) * self.rate // SECOND_MICROS + 1

    def at(self, seq: int) -> int:
        """Return when record ``seq`` is due (monotonic µs, rounded up, so that it is then due)."""
        return self.start - (-seq * SECOND_MICROS // self.rate)

    def at_all(self, seqs: pa.Int64Array) -> pa.Int64Array:
        """Return what ``at`` returns, for many records at once."""
        # Arrow divides towards zero, and there is no seq below zero.
        due = pc.add(pc.multiply(seqs, SECOND_MICROS), self.rate - 1)
        return pc.add(pc.divide(due, self.rate), self.start)
