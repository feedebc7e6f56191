"""What the brokers hold of a generated history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bench.scoring import history as shape
from bench.scoring.columns import names, table
from bench.scoring.formulas import (
    PLAIN_NAMES,
    PLAIN_UIDS,
    TXN_NAMES,
    TXN_UIDS,
    chunks,
    seqs_at,
    transaction_aborted,
)
from bench.scoring.history import (
    LENGTH,
    OFFSETS_PER_ROUND,
    PARTITIONS,
    PLAIN,
    PLAIN_STEP,
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


def broker_rows(planted: Planted) -> Iterator[tuple[str, pa.Table]]:
    """Yield what the brokers hold, each part with its partition."""
    for partition in range(PARTITIONS):
        copies = planted.copied if partition == 0 else 0
        for offset in chunks(0, planted.blocks * PRODUCERS + copies):
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
                "seq": seqs_at(planted, block, producer, partition),
                "timestamp": (offset * PARTITIONS) * PLAIN_STEP + T0,
                "state": "plain",
            }
            rows = _log_rows(len(offset), values)
            if partition == shape.LOST_IN:
                gone = offset.among([found * PRODUCERS for found in planted.lost_blocks])
                rows = rows.filter(pc.invert(gone))
            yield f"{PLAIN}-{partition}", rows
    per_round = LENGTH * WRITERS // PARTITIONS
    for partition in range(PARTITIONS):
        for index in chunks(0, planted.rounds * per_round):
            transaction, place = index // per_round, index % per_round
            writer = place % WRITERS
            values = {
                "topic": TXN,
                "partition": partition,
                "offset": transaction * OFFSETS_PER_ROUND + place,
                "key": f"k{partition}",
                "producer": names(writer, TXN_NAMES),
                "producer_incarnation": names(writer, TXN_UIDS),
                "seq": transaction * LENGTH + place // WRITERS * PARTITIONS + partition,
                "timestamp": (index * PARTITIONS) * TXN_STEP + T0,
                "state": pc.if_else(
                    transaction_aborted(transaction, writer), "aborted", "committed"
                ),
            }
            yield f"{TXN}-{partition}", _log_rows(len(index), values)


def _log_rows(rows: int, values: dict[str, Any]) -> pa.Table:
    shared = {"run_uid": RUN_UID, "checksum_ok": True, "size": 200}
    return table(TABLES["log"], rows, values | shared)
