"""What the ledgers of one history share: who sent, when a send was done, what lies at an offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bench.scoring import history as shape
from bench.scoring.columns import Numbers
from bench.scoring.history import (
    ACK,
    PARTITIONS,
    PRODUCERS,
    WRITERS,
    Planted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS_PER_FILE = 500_000

PLAIN_NAMES = [f"p-{number}" for number in range(PRODUCERS)]
PLAIN_UIDS = [shape.uid("a", number) for number in range(PRODUCERS)]
TXN_NAMES = [f"t-{number}" for number in range(WRITERS)]
TXN_UIDS = [shape.uid("b", number) for number in range(WRITERS)]


def chunks(first: int, last: int) -> Iterator[Numbers]:
    """Yield the numbers from first to last - 1, a file's worth at a time."""
    for begin in range(first, last, ROWS_PER_FILE):
        yield Numbers.range(begin, min(last, begin + ROWS_PER_FILE))


def done_at(
    planted: Planted, scheduled: Numbers, partition: Numbers | int, number: Numbers
) -> Numbers:
    """Return when sends to the plain topic were done: those to partition 0 wait for its leader."""
    begin, end = planted.outage
    waiting = scheduled.between(begin - ACK, end)
    if isinstance(partition, Numbers):
        waiting = pc.and_(waiting, partition.between(0, 0))
    elif partition:
        waiting = pc.and_(waiting, pa.scalar(value=False))
    return scheduled.where(waiting, end) + number.jitter() + ACK


def transaction_aborted(transaction: Numbers, writer: Numbers | int) -> Any:
    """Return whether each transaction of a writer was aborted."""
    number = transaction * WRITERS + writer
    return (number % shape.ABORT_EVERY).between(shape.ABORT_AT, shape.ABORT_AT)


def seqs_at(
    planted: Planted, block: Numbers, producer: Numbers, partition: Numbers | int
) -> Numbers:
    """Return the seq of what lies at a place of the plain topic."""
    seq = block * PARTITIONS + partition
    swaps: dict[int, int] = {}
    for first in planted.swapped_blocks:
        one = (first * PARTITIONS + 4) * PRODUCERS + 1
        other = one + PARTITIONS * PRODUCERS
        swaps |= {one: other // PRODUCERS, other: one // PRODUCERS}
    return seq.changed(swaps, seq * PRODUCERS + producer)
