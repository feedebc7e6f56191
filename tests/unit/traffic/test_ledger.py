from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from krt_contract.ledger import table_of
from krt_traffic import ledger
from krt_traffic.ledger import LedgerThread, Rolling

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    import pytest


def rows(*numbers: int) -> pa.Table:
    names = ("attempted", "acked", "failed", "unknown", "at")
    texts = {"producer": ["p"] * len(numbers), "producer_incarnation": ["u"] * len(numbers)}
    return table_of("producer_summary", texts | {name: list(numbers) for name in names})


def stored(folder: Path) -> list[int]:
    return sorted(
        number
        for path in folder.glob("*.parquet")
        for number in pq.ParquetFile(path).read()["attempted"].to_pylist()
    )


def rolling(folder: Path) -> Rolling:
    return Rolling(ledger.writer(folder, "producer_summary", "p", "u"))


def test_provisional_rows_are_taken_back_and_settled_ones_stay(tmp_path: Path) -> None:
    table, folder = rolling(tmp_path), tmp_path / "producer_summary"
    table.flush(rows(1), rows(2, 3))
    assert stored(folder) == [1, 2, 3]
    table.flush(rows(2), rows(3))
    assert stored(folder) == [1, 2, 3]
    table.flush(rows(), rows())
    assert stored(folder) == [1, 2]
    table.close(rows(3))
    assert stored(folder) == [1, 2, 3]
    assert not list(folder.glob("*open*"))


def test_a_full_open_file_gets_its_number_without_losing_what_is_provisional(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "ROLL_ROWS", 2)
    table, folder = rolling(tmp_path), tmp_path / "producer_summary"
    table.flush(rows(1), rows(9))
    table.flush(rows(2), rows(9))
    assert stored(folder) == [1, 2, 9]
    assert len(list(folder.iterdir())) == 2
    table.close(rows())
    assert stored(folder) == [1, 2]


def test_a_full_open_file_keeps_its_name_while_somebody_relies_on_what_is_provisional(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "ROLL_ROWS", 2)
    table, folder = rolling(tmp_path), tmp_path / "producer_summary"
    table.flush(rows(1, 2), rows(9), roll=False)
    assert table.grown
    assert [path.name for path in folder.iterdir()] == ["p-u-open.parquet"]
    table.flush(rows(9))
    assert [path.name for path in folder.iterdir()] == ["p-u-000000.parquet"]
    assert stored(folder) == [1, 2, 9]


def test_what_came_before_settle_is_durable_after_it() -> None:
    flushed: list[int] = []
    coming = [1]
    thread = LedgerThread(lambda: flushed.extend(coming))
    thread.start()
    coming.append(2)
    thread.settle()
    assert 2 in flushed
    thread.stop()
