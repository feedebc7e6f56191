"""The tables of a generated history (``bench_history``), file by file as their writers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hack import bench_history as shape
from hack import bench_members
from hack.bench_columns import Numbers, names, table
from hack.bench_history import (
    ACK,
    BLOCK,
    CATCH_UP,
    CONSUMERS,
    EVEN,
    HANDED,
    HELD,
    LENGTH,
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

from krt_contract.bundle import Bundle, write_json
from krt_contract.ledger import layout
from krt_contract.schemas import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS_PER_FILE = 500_000

PLAIN_NAMES = [f"p-{number}" for number in range(PRODUCERS)]
PLAIN_UIDS = [shape.uid("a", number) for number in range(PRODUCERS)]
TXN_NAMES = [f"t-{number}" for number in range(WRITERS)]
TXN_UIDS = [shape.uid("b", number) for number in range(WRITERS)]


def generate(root: Path, sends: int) -> None:
    """Write a bundle of ``sends`` sends and about as many deliveries below ``root``."""
    planted = Planted(sends)
    bundle = Bundle(root / shape.BUNDLE)
    write_json(bundle.run_json, shape.plan())
    for name, parts in (
        ("produce", _produce(planted)),
        ("log", _log(planted)),
        ("consume", _consume(planted)),
    ):
        for number, (stem, part) in enumerate(parts):
            _write(bundle, name, f"{stem}-part{number}", part)
    for name, rows, writer in (
        ("consumer_events", bench_members.events(planted), "incarnation"),
        ("producer_summary", bench_members.closes(planted), "producer_incarnation"),
        ("log_end_offsets", bench_members.bounds(planted), "topic"),
    ):
        # As in a run, no file is of two writers.
        files: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            files.setdefault(row[writer], []).append(row)
        for stem, part in files.items():
            _write(bundle, name, stem, pa.Table.from_pylist(part, schema=TABLES[name]))
    bench_members.timeline(bundle, planted)


def _write(bundle: Bundle, name: str, stem: str, rows: pa.Table) -> None:
    folder = bundle.table(name)
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, folder / f"{stem}.parquet", **layout(rows.schema))


def _chunks(first: int, last: int) -> Iterator[Numbers]:
    for begin in range(first, last, ROWS_PER_FILE):
        yield Numbers.range(begin, min(last, begin + ROWS_PER_FILE))


def _done(
    planted: Planted, scheduled: Numbers, partition: Numbers | int, number: Numbers
) -> Numbers:
    """Return when sends to the plain topic were done: those to partition 0 wait for its leader."""
    begin, end = planted.outage
    held = scheduled.between(begin - ACK, end)
    if isinstance(partition, Numbers):
        held = pc.and_(held, partition.between(0, 0))
    elif partition:
        held = pc.and_(held, pa.scalar(value=False))
    return scheduled.where(held, end) + number.jitter() + ACK


def _produce(planted: Planted) -> Iterator[tuple[str, pa.Table]]:
    for producer in range(PRODUCERS):
        name, incarnation = PLAIN_NAMES[producer], PLAIN_UIDS[producer]
        for seq in _chunks(0, planted.blocks * PARTITIONS):
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
            done = _done(planted, scheduled, partition, number)
            yield incarnation, _timed("produce", seq, values, scheduled, done)
    for writer in range(WRITERS):
        name, incarnation = TXN_NAMES[writer], TXN_UIDS[writer]
        for seq in _chunks(0, planted.rounds * LENGTH):
            number = seq * WRITERS + writer
            scheduled = number * TXN_STEP + T0
            transaction = seq // LENGTH
            failed = _aborted(transaction, writer)
            offset = transaction * HELD + (seq % LENGTH) // PARTITIONS * WRITERS + writer
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


def _aborted(transaction: Numbers, writer: Numbers | int) -> Any:
    number = transaction * WRITERS + writer
    return (number % shape.ABORT_EVERY).between(shape.ABORT_AT, shape.ABORT_AT)


def _moved(planted: Planted, producer: int) -> dict[int, int]:
    """Return seq → offset of the sends of a producer that lie in each other's place."""
    moved: dict[int, int] = {}
    for block in planted.swapped_blocks if producer == 1 else ():
        seq = block * PARTITIONS + 4
        moved[seq] = (block + 1) * PRODUCERS + producer
        moved[seq + PARTITIONS] = block * PRODUCERS + producer
    return moved


def _seqs_at(
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


def _log(planted: Planted) -> Iterator[tuple[str, pa.Table]]:
    for partition in range(PARTITIONS):
        copies = planted.copied if partition == 0 else 0
        for offset in _chunks(0, planted.blocks * PRODUCERS + copies):
            # Copies of the first records lie behind the last.
            origin = offset.where(
                offset.between(planted.blocks * PRODUCERS, 1 << 60),
                offset - planted.blocks * PRODUCERS,
            )
            block, producer = origin // PRODUCERS, origin % PRODUCERS
            values = {
                "topic": PLAIN,
                "partition": partition,
                "offset": offset,
                "key": f"k{partition}",
                "producer": names(producer, PLAIN_NAMES),
                "producer_incarnation": names(producer, PLAIN_UIDS),
                "seq": _seqs_at(planted, block, producer, partition),
                "timestamp": (offset * PARTITIONS) * PLAIN_STEP + T0,
                "state": "plain",
            }
            rows = _held(len(offset), values)
            if partition == shape.LOST_IN:
                gone = offset.among([found * PRODUCERS for found in planted.lost_blocks])
                rows = rows.filter(pc.invert(gone))
            yield f"{PLAIN}-{partition}", rows
    per_round = LENGTH * WRITERS // PARTITIONS
    for partition in range(PARTITIONS):
        for index in _chunks(0, planted.rounds * per_round):
            transaction, place = index // per_round, index % per_round
            writer = place % WRITERS
            values = {
                "topic": TXN,
                "partition": partition,
                "offset": transaction * HELD + place,
                "key": f"k{partition}",
                "producer": names(writer, TXN_NAMES),
                "producer_incarnation": names(writer, TXN_UIDS),
                "seq": transaction * LENGTH + place // WRITERS * PARTITIONS + partition,
                "timestamp": (index * PARTITIONS) * TXN_STEP + T0,
                "state": pc.if_else(_aborted(transaction, writer), "aborted", "committed"),
            }
            yield f"{TXN}-{partition}", _held(len(index), values)


def _held(rows: int, values: dict[str, Any]) -> pa.Table:
    shared = {"run_uid": RUN_UID, "checksum_ok": True, "size": 200}
    return table(TABLES["log"], rows, values | shared)


def _consume(planted: Planted) -> Iterator[tuple[str, pa.Table]]:
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
    for order in _chunks(0, (last - first) * per_block + copies):
        tail = order.between((last - first) * per_block, 1 << 60)
        copy = order - (last - first) * per_block
        block = (order // per_block + first).where(tail, 0)
        place = (order % per_block).where(tail, copy)
        partition, producer = place // PRODUCERS + consumer * OWNED, place % PRODUCERS
        offset = block * PRODUCERS + producer
        offset = offset.where(tail, offset + planted.blocks * PRODUCERS)
        number = (block * PARTITIONS + partition) * PRODUCERS + producer
        scheduled = number * PLAIN_STEP + T0
        handed = _done(planted, scheduled, partition, number) + HANDED
        handed = handed.where(tail, planted.end + shape.OUTAGE)
        if incarnation:
            handed = handed.at_least(order * CATCH_UP + planted.killed_at + shape.BACK)
        seq = _seqs_at(planted, block, producer, partition)
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
        rows = _delivered(order, values, handed)
        yield uid, rows.filter(pc.or_(tail, pc.invert(number.among(never))))


def _txn_member(planted: Planted) -> Iterator[tuple[str, pa.Table]]:
    per_round = LENGTH * WRITERS
    for order in _chunks(0, planted.rounds * per_round):
        transaction, within = order // per_round, order % per_round
        place, partition = within // PARTITIONS, within % PARTITIONS
        writer = place % WRITERS
        seq = transaction * LENGTH + place // WRITERS * PARTITIONS + partition
        handed = (transaction + 1) * per_round * TXN_STEP + T0 + ACK + shape.DONE_WITHIN
        values = {
            "consumer": "d-0",
            "incarnation": shape.uid("d", 0),
            "group": "h",
            "topic": TXN,
            "partition": partition,
            "offset": transaction * HELD + place,
            "producer": names(writer, TXN_NAMES),
            "producer_incarnation": names(writer, TXN_UIDS),
            "seq": seq,
            "checksum_ok": True,
        }
        dirty = [round_ * LENGTH * WRITERS + 1 for round_ in planted.dirty_rounds]
        kept = pc.or_(
            pc.invert(_aborted(transaction, writer)), (seq * WRITERS + writer).among(dirty)
        )
        yield shape.uid("d", 0), _delivered(order, values, handed).filter(kept)


def _delivered(order: Numbers, values: dict[str, Any], handed: Numbers) -> pa.Table:
    shared = {
        "event_seq": order * 2 + EVEN,
        "poll": order // POLL,
        "poll_index": order % POLL,
        "run_uid": RUN_UID,
        "delivered_at": handed,
        "delivered_mono": handed - T0,
        "processed_at": handed,
        "outcome": "ok",
    }
    return table(TABLES["consume"], len(order), values | shared)
