"""How long it takes until bytes, or the rows of a flush, are durable: in a folder and in the store.

Both are below one folder, so on one disk. They take turns, in an order that changes.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from bench.rounds import order
from bench.scoring.__main__ import write_head, write_row
from bench.store.numbers import percentile
from krt_contract.ledger import LedgerWriter
from krt_contract.sinks.generations import GenerationWriter, encode
from krt_contract.sinks.patience import Patience
from krt_contract.stores.folder import FolderStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa

    from krt_contract.stores.objects import ObjectStore
    from krt_contract.stores.store import Store

ROWS = (250, 1000, 2500)
"""Rows that a flush rewrites: those of half a second at 500 records/s, and of several of these."""

WARM = 10
"""Turns before the first that counts: connections are made, and folders."""

HEAD = (
    "",
    "bytes",
    "folder ms, p50 / p99",
    "store ms, p50 / p99",
    "store / folder, p50",
    "store / folder, p99",
)


def in_turn(
    folder: Callable[[], object], store: Callable[[], object], turns: int
) -> tuple[list[float], list[float]]:
    """Return the seconds that each took, turn by turn."""
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(WARM + turns):
        for work, seconds in order(zip((folder, store), taken, strict=True), turn):
            started = time.perf_counter()
            work()
            if turn >= WARM:
                seconds.append(time.perf_counter() - started)
    return taken


def row(what: str, size: int, folder: list[float], store: list[float]) -> tuple[str, ...]:
    """Return a line of the table."""
    shares = (50, 99)
    cells = [
        " / ".join(f"{percentile(seconds, share) * 1000:.1f}" for share in shares)
        for seconds in (folder, store)
    ]
    compared = [f"{percentile(store, p) / percentile(folder, p):.2f}" for p in shares]
    return what, f"{size:,}", *cells, *compared


def measure(root: Path, objects: ObjectStore, ledger: pa.Table, turns: int) -> None:
    """Print the table.

    Args:
        root: a folder next to that of the store.
        objects: the store.
        ledger: rows of the table ``produce``, the most of ``ROWS`` at least.
        turns: of each line.
    """
    write_head(HEAD)
    folder = FolderStore(root / "folder")
    for rows in ROWS:
        data = encode(ledger.slice(0, rows))
        local_put = partial(_put, folder, _keys(rows), data)
        found = in_turn(local_put, partial(_put, objects, _keys(rows), data), turns)
        write_row(row(f"put, {rows} rows", len(data), *found))
    for rows in ROWS:
        part = ledger.slice(0, rows)
        local = LedgerWriter(root / f"ledger-{rows}", "produce", "p-0")
        patience = Patience(objects, _refuse)
        remote = GenerationWriter(objects, patience, f"ledger-{rows}", "produce", "p-0")
        found = in_turn(partial(local.write_open, part), partial(remote.write_open, part), turns)
        write_row(row(f"flush, {rows} rows", len(encode(part)), *found))


def _put(store: Store, keys: Iterator[str], data: bytes) -> None:
    store.put(next(keys), data)


def _keys(rows: int) -> Iterator[str]:
    return (f"puts/{rows}/p-{number:06d}.000000.parquet" for number in count())


def _refuse(start: int, end: int) -> None:
    raise RuntimeError(f"the store did not answer for {(end - start) / 1e6:.1f} s: measure again")
