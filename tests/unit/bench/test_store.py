"""What the comparison of the embedded store with a folder is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from bench.scoring import tables
from bench.scoring.__main__ import Cost
from bench.scoring.history import BUNDLE
from bench.store import puts, scoring
from bench.store.bundles import upload
from bench.store.numbers import percentile
from bench.store.reader import COPY, FOLDER
from krt_contract.bundle import Bundle
from krt_contract.fetch import fetch
from krt_contract.stores.folder import FolderStore

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SENDS = 120_000


def test_upload_of_a_history_is_fetched_as_the_same_files(tmp_path: Path) -> None:
    tables.generate(tmp_path, SENDS)
    store = FolderStore(tmp_path / "store")
    upload(tmp_path / BUNDLE, store, "ns/test/uid")
    fetch(store, "ns/test/uid", tmp_path / "copy")
    one, other = Bundle(tmp_path / BUNDLE), Bundle(tmp_path / "copy")
    for folder in ("timeline", "log"):
        names = {path.name for path in (one.root / folder).iterdir()}
        assert names == {path.name for path in (other.root / folder).iterdir()}
        assert all(
            (one.root / folder / name).read_bytes() == (other.root / folder / name).read_bytes()
            for name in names
        )
    assert one.run_json.read_bytes() == other.run_json.read_bytes()
    for name in ("produce", "consume", "consumer_events", "producer_summary", "log_end_offsets"):
        assert pq.read_table(one.table(name)).num_rows == pq.read_table(other.table(name)).num_rows
    assert len(list(other.table("log_end_offsets").iterdir())) == 1


def test_in_turn_takes_both_as_often_and_lets_each_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(puts, "WARM", 2)
    order: list[str] = []
    found = puts.in_turn(lambda: order.append("folder"), lambda: order.append("store"), 4)
    assert [len(seconds) for seconds in found] == [4, 4]
    assert order[:4] == ["folder", "store", "store", "folder"]


def test_row_compares_the_store_with_the_folder() -> None:
    line = puts.row("put", 4096, [0.001, 0.002, 0.003], [0.002, 0.003, 0.004])
    assert line == ("put", "4,096", "2.0 / 3.0", "3.0 / 4.0", "1.50", "1.34")


def test_percentile_of_a_hundred_and_one_values_is_its_place() -> None:
    assert percentile(range(101), 99) == 99


def test_lines_compare_scorings_of_the_same_round() -> None:
    costs = {
        FOLDER: [Cost(10, 20, 900, ""), Cost(20, 20, 950, "")],
        COPY: [Cost(11, 21, 900, ""), Cost(21, 21, 980, "")],
    }
    folder, copy = scoring.lines(costs)
    assert folder[4:] == ("1.00 / 1.00 / 1.00", "1.00")
    assert copy[1:] == ("11.0 / 16.0 / 21.0", "21.0", "980", "1.05 / 1.08 / 1.10", "1.05")
