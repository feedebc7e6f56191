"""The tables of a generated history, file by file as their writers write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.scoring import deliveries, members, plan, records, sends
from bench.scoring import history as shape
from bench.scoring.history import (
    Planted,
)
from krt_contract.bundle import Bundle, write_json
from krt_contract.ledger import layout
from krt_contract.schemas import TABLES

if TYPE_CHECKING:
    from pathlib import Path


def generate(root: Path, count: int) -> None:
    """Write a bundle of ``count`` sends and about as many deliveries below ``root``."""
    planted = Planted(count)
    bundle = Bundle(root / shape.BUNDLE)
    write_json(bundle.run_json, plan.plan())
    for name, parts in (
        ("produce", sends.producer_rows(planted)),
        ("log", records.broker_rows(planted)),
        ("consume", deliveries.consumer_rows(planted)),
    ):
        for number, (stem, part) in enumerate(parts):
            _write(bundle, name, f"{stem}-part{number}", part)
    for name, rows, writer in (
        ("consumer_events", members.events(planted), "incarnation"),
        ("producer_summary", members.closes(planted), "producer_incarnation"),
        ("log_end_offsets", members.bounds(planted), "topic"),
    ):
        # As in a run, no file is of two writers.
        files: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            files.setdefault(row[writer], []).append(row)
        for stem, part in files.items():
            _write(bundle, name, stem, pa.Table.from_pylist(part, schema=TABLES[name]))
    members.timeline(bundle, planted)


def _write(bundle: Bundle, name: str, stem: str, rows: pa.Table) -> None:
    folder = bundle.table(name)
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, folder / f"{stem}.parquet", **layout(rows.schema))
