"""The consumers' ledgers of a generated history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bench.scoring import history as shape
from bench.scoring.columns import Numbers, names, table
from bench.scoring.formulas import (
    PLAIN_NAMES,
    PLAIN_UIDS,
    TXN_NAMES,
    TXN_UIDS,
    chunks,
    done_at,
    seqs_at,
    transaction_aborted,
)
from bench.scoring.history import (
    ACK,
    BLOCK,
    CATCH_UP,
    CONSUMERS,
    DELIVERY,
    EVEN,
    LENGTH,
    OFFSETS_PER_ROUND,
    OWNED,
    PARTITIONS,
    PLAIN,
    PLAIN_STEP,
    POLL,
    PRODUCERS,
    RUN_UID,
    T0,
    TXN,
    TXN_STEP,
    WRITERS,
    Planted,
)
from krt_contract.schemas import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator


def consumer_rows(planted: Planted) -> Iterator[tuple[str, pa.Table]]:
    """Yield the consumers' ledgers, each part with its incarnation."""
    yield from _plain_member(planted, 0, 0, 0, planted.blocks)
    yield from _plain_member(planted, 1, 0, 0, planted.killed)
    yield from _plain_member(planted, 1, 1, planted.committed, planted.blocks)
    yield from _txn_member(planted)


def _plain_member(
    planted: Planted, consumer: int, incarnation: int, first: int, last: int
) -> Iterator[tuple[str, pa.Table]]:
    per_block = BLOCK // CONSUMERS
    copies = 0 if consumer else planted.copied
    uid = shape.uid("c", 2 * consumer + incarnation)
    for order in chunks(0, (last - first) * per_block + copies):
        tail = order.between((last - first) * per_block, 1 << 60)
        copy = order - (last - first) * per_block
        block = (order // per_block + first).where(tail, 0)
        place = (order % per_block).where(tail, copy)
        partition, producer = place // PRODUCERS + consumer * OWNED, place % PRODUCERS
        offset = block * PRODUCERS + producer
        offset = offset.where(tail, offset + planted.blocks * PRODUCERS)
        number = (block * PARTITIONS + partition) * PRODUCERS + producer
        scheduled = number * PLAIN_STEP + T0
        delivered_at = done_at(planted, scheduled, partition, number) + DELIVERY
        delivered_at = delivered_at.where(tail, planted.end + shape.OUTAGE)
        if incarnation:
            delivered_at = delivered_at.at_least(order * CATCH_UP + planted.killed_at + shape.BACK)
        seq = seqs_at(planted, block, producer, partition)
        damaged = [(b * PARTITIONS + 5) * PRODUCERS + 2 for b in planted.damaged_blocks]
        values = {
            "consumer": f"c-{consumer}",
            "incarnation": uid,
            "group": "g",
            "topic": PLAIN,
            "partition": partition,
            "offset": offset,
            "producer": names(producer, PLAIN_NAMES),
            "producer_incarnation": names(producer, PLAIN_UIDS),
            "seq": seq,
            "checksum_ok": pc.invert(number.among(damaged)),
        }
        never = [b * BLOCK + 2 * PRODUCERS for b in planted.lost_blocks]
        never += [b * BLOCK + 1 * PRODUCERS + 3 for b in planted.unseen_blocks]
        rows = _delivered(order, values, delivered_at)
        yield uid, rows.filter(pc.or_(tail, pc.invert(number.among(never))))


def _txn_member(planted: Planted) -> Iterator[tuple[str, pa.Table]]:
    per_round = LENGTH * WRITERS
    for order in chunks(0, planted.rounds * per_round):
        transaction, within = order // per_round, order % per_round
        place, partition = within // PARTITIONS, within % PARTITIONS
        writer = place % WRITERS
        seq = transaction * LENGTH + place // WRITERS * PARTITIONS + partition
        delivered_at = (transaction + 1) * per_round * TXN_STEP + T0 + ACK + shape.DONE_WITHIN
        values = {
            "consumer": "d-0",
            "incarnation": shape.uid("d", 0),
            "group": "h",
            "topic": TXN,
            "partition": partition,
            "offset": transaction * OFFSETS_PER_ROUND + place,
            "producer": names(writer, TXN_NAMES),
            "producer_incarnation": names(writer, TXN_UIDS),
            "seq": seq,
            "checksum_ok": True,
        }
        dirty = [round_ * LENGTH * WRITERS + 1 for round_ in planted.dirty_rounds]
        kept = pc.or_(
            pc.invert(transaction_aborted(transaction, writer)),
            (seq * WRITERS + writer).among(dirty),
        )
        yield shape.uid("d", 0), _delivered(order, values, delivered_at).filter(kept)


def _delivered(order: Numbers, values: dict[str, Any], delivered_at: Numbers) -> pa.Table:
    shared = {
        "event_seq": order * 2 + EVEN,
        "poll": order // POLL,
        "poll_index": order % POLL,
        "run_uid": RUN_UID,
        "delivered_at": delivered_at,
        "delivered_mono": delivered_at - T0,
        "processed_at": delivered_at,
        "outcome": "ok",
    }
    return table(TABLES["consume"], len(order), values | shared)
