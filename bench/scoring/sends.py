"""The producers' ledgers of a generated history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bench.scoring.columns import Numbers, names, table
from bench.scoring.formulas import (
    PLAIN_NAMES,
    PLAIN_UIDS,
    TXN_NAMES,
    TXN_UIDS,
    chunks,
    done_at,
    transaction_aborted,
)
from bench.scoring.history import (
    ACK,
    LENGTH,
    OFFSETS_PER_ROUND,
    PARTITIONS,
    PLAIN,
    PLAIN_STEP,
    PRODUCERS,
    T0,
    TXN,
    TXN_STEP,
    WRITERS,
    Planted,
)
from krt_contract.schemas import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator


def producer_rows(planted: Planted) -> Iterator[tuple[str, pa.Table]]:
    """Yield the producers' ledgers, each part with its incarnation."""
    for producer in range(PRODUCERS):
        name, incarnation = PLAIN_NAMES[producer], PLAIN_UIDS[producer]
        for seq in chunks(0, planted.blocks * PARTITIONS):
            block, partition = seq // PARTITIONS, seq % PARTITIONS
            number = seq * PRODUCERS + producer
            scheduled = number * PLAIN_STEP + T0
            offset = (block * PRODUCERS + producer).changed(_moved(planted, producer), seq)
            unknown = seq.among(planted.unknown_seqs(producer))
            values = {
                "producer": name,
                "producer_incarnation": incarnation,
                "topic": PLAIN,
                "seq": seq,
                "partition": partition,
                "key": names(partition, [f"k{number}" for number in range(PARTITIONS)]),
                "outcome": pc.if_else(unknown, "unknown", "acked"),
                "offset": pc.if_else(unknown, pa.scalar(None, pa.int64()), offset.values),
            }
            done = done_at(planted, scheduled, partition, number)
            yield incarnation, _timed("produce", seq, values, scheduled, done)
    for writer in range(WRITERS):
        name, incarnation = TXN_NAMES[writer], TXN_UIDS[writer]
        for seq in chunks(0, planted.rounds * LENGTH):
            number = seq * WRITERS + writer
            scheduled = number * TXN_STEP + T0
            transaction = seq // LENGTH
            failed = transaction_aborted(transaction, writer)
            offset = (
                transaction * OFFSETS_PER_ROUND + (seq % LENGTH) // PARTITIONS * WRITERS + writer
            )
            values = {
                "producer": name,
                "producer_incarnation": incarnation,
                "topic": TXN,
                "seq": seq,
                "partition": seq % PARTITIONS,
                "key": names(seq % PARTITIONS, [f"k{number}" for number in range(PARTITIONS)]),
                "outcome": pc.if_else(failed, "failed", "acked"),
                "offset": pc.if_else(failed, pa.scalar(None, pa.int64()), offset.values),
                "transaction": transaction,
                "transaction_outcome": pc.if_else(failed, "aborted", "committed"),
            }
            done = scheduled + number.jitter() + ACK
            yield incarnation, _timed("produce", seq, values, scheduled, done)


def _timed(
    name: str, seq: Numbers, values: dict[str, Any], scheduled: Numbers, done: Numbers
) -> pa.Table:
    times = {
        "scheduled_at": scheduled,
        "sent_at": scheduled + 100,
        "done_at": done,
        "sent_mono": scheduled + 100 - T0,
        "done_mono": done - T0,
    }
    return table(TABLES[name], len(seq), values | times)


def _moved(planted: Planted, producer: int) -> dict[int, int]:
    """Return seq → offset of the sends of a producer that lie in each other's place."""
    moved: dict[int, int] = {}
    for block in planted.swapped_blocks if producer == 1 else ():
        seq = block * PARTITIONS + 4
        moved[seq] = (block + 1) * PRODUCERS + producer
        moved[seq + PARTITIONS] = block * PRODUCERS + producer
    return moved
