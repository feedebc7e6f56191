from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krt_contract.bundle import Bundle, make_directory, write_json
from krt_contract.ledger import LedgerWriter, table_of
from krt_contract.schemas import TABLES
from krt_contract.timeline import Event, TimelineWriter

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE: dict[str, Any] = {"string": "a", "int64": 1, "int32": 1, "bool": True}


def rows(table: str, count: int) -> dict[str, list[Any]]:
    return {
        field.name: [[0, 1] if pa.types.is_list(field.type) else SAMPLE[str(field.type)]] * count
        for field in TABLES[table]
    }


@pytest.mark.parametrize("table", TABLES)
def test_what_is_written_is_read_with_the_schema(table: str, tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path / table, table, "m-uid")
    path = writer.write(rows(table, 3))
    assert path is not None
    read = pq.read_table(path)
    assert read.schema.equals(TABLES[table])
    assert read.num_rows == 3


def test_numbers_are_laid_out_in_steps_and_texts_as_dictionaries(tmp_path: Path) -> None:
    path = LedgerWriter(tmp_path, "produce", "m-uid").write(rows("produce", 3))
    assert path is not None
    group = pq.read_metadata(path).row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    found = {column.path_in_schema: set(column.encodings) for column in columns}
    for field in TABLES["produce"]:
        encodings = found[field.name]
        assert ("DELTA_BINARY_PACKED" in encodings) is pa.types.is_integer(field.type), field.name
        assert ("RLE_DICTIONARY" in encodings) is pa.types.is_string(field.type), field.name


def test_files_are_numbered_and_none_is_left_open(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, "producer_summary", "p-0-uid")
    for _ in range(2):
        writer.write(rows("producer_summary", 1))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "p-0-uid-000000.parquet",
        "p-0-uid-000001.parquet",
    ]
    assert writer.files == 2


def test_no_rows_no_file(tmp_path: Path) -> None:
    assert (
        LedgerWriter(tmp_path, "producer_summary", "x").write(rows("producer_summary", 0)) is None
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["missing", "short", "null"])
def test_rows_that_do_not_fit_publish_nothing(damage: str, tmp_path: Path) -> None:
    columns = rows("producer_summary", 2)
    if damage == "missing":
        del columns["at"]
    elif damage == "short":
        columns["at"] = [1]
    else:
        columns["at"] = [1, None]
    with pytest.raises((KeyError, pa.ArrowInvalid)):
        LedgerWriter(tmp_path, "producer_summary", "x").write(columns)
    assert not list(tmp_path.iterdir())


def test_folders_are_shared_by_the_group_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        make_directory(tmp_path / "ns" / "name")
    finally:
        os.umask(before)
    for part in ("ns", "ns/name"):
        assert stat.S_IMODE((tmp_path / part).stat().st_mode) == 0o2775


def test_json_is_sorted_and_ends_in_a_newline(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "b")
    write_json(bundle.run_json, {"b": 1, "a": "é"})
    assert bundle.run_json.read_text(encoding="utf-8") == '{\n "a": "é",\n "b": 1\n}\n'


def test_timeline_lines_are_appended_whole(tmp_path: Path) -> None:
    for subject in ("foo-0", "foo-1"):
        writer = TimelineWriter(tmp_path, "partitions")
        writer.write(Event(1, 2, "partition", "state", subject, {"leader": 0}))
        writer.close()
    lines = (tmp_path / "partitions.jsonl").read_text().splitlines()
    assert [json.loads(line)["subject"] for line in lines] == ["foo-0", "foo-1"]


def test_an_open_file_is_replaced_and_then_numbered_by_one_rename(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, "producer_summary", "main-0-u1")
    for attempted in (1, 2):
        writer.write_open(table_of("producer_summary", close_row(attempted)))
        assert [path.name for path in tmp_path.iterdir()] == ["main-0-u1-open.parquet"]
    writer.roll()
    assert [path.name for path in tmp_path.iterdir()] == ["main-0-u1-000000.parquet"]
    assert pq.read_table(tmp_path)["attempted"].to_pylist() == [2]
    with pytest.raises(FileNotFoundError):
        writer.roll()


def close_row(attempted: int) -> dict[str, list[str] | list[int]]:
    return {
        "producer": ["main-0"],
        "producer_incarnation": ["u1"],
        "attempted": [attempted],
        "acked": [attempted],
        "failed": [0],
        "unknown": [0],
        "at": [1],
    }
