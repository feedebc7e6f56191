from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from krt_contract.ledger import table_of
from krt_contract.sinks.folder import FolderSink
from krt_traffic import rolling_writer
from krt_traffic.rolling_writer import RollingWriter

if TYPE_CHECKING:
    from collections.abc import Callable
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


def rolling(folder: Path) -> RollingWriter:
    return RollingWriter(FolderSink(folder).table("producer_summary", "p-u"))


def test_flush_takes_earlier_provisional_rows_back_and_keeps_settled_ones(tmp_path: Path) -> None:
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


def test_flush_of_a_full_file_numbers_it_and_keeps_provisional_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling_writer, "ROLL_ROWS", 2)
    table, folder = rolling(tmp_path), tmp_path / "producer_summary"
    table.flush(rows(1), rows(9))
    table.flush(rows(2), rows(9))
    assert stored(folder) == [1, 2, 9]
    assert len(list(folder.iterdir())) == 2
    table.close(rows())
    assert stored(folder) == [1, 2]


def test_flush_killed_while_a_file_gets_its_number_lacks_only_provisional_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling_writer, "ROLL_ROWS", 2)
    table, folder = rolling(tmp_path), tmp_path / "producer_summary"
    durable: list[list[int]] = []

    def watched(step: Callable[..., object]) -> Callable[..., None]:
        def call(*arguments: pa.Table) -> None:
            step(*arguments)
            durable.append(stored(folder))

        return call

    for name in ("write_open", "roll"):
        monkeypatch.setattr(table.writer, name, watched(getattr(table.writer, name)))
    table.flush(rows(1), rows(8, 9))
    table.flush(rows(2), rows(8, 9))
    assert durable == [[1, 8, 9], [1, 2], [1, 2], [1, 2, 8, 9]]


def test_flush_without_roll_keeps_a_full_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling_writer, "ROLL_ROWS", 2)
    table, folder = rolling(tmp_path), tmp_path / "producer_summary"
    table.flush(rows(1, 2), rows(9), roll=False)
    assert table.grown
    assert [path.name for path in folder.iterdir()] == ["p-u-open.parquet"]
    table.flush(rows(9))
    assert [path.name for path in folder.iterdir()] == ["p-u-000000.parquet"]
    assert stored(folder) == [1, 2, 9]
