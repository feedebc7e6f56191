"""The dump's lines, where they are not what they look like, and where the dump is incomplete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from krt_contract.bundle import Bundle
from krt_contract.payload import Encoder
from krt_contract.sinks.folder import FolderSink
from krt_traffic.replicas import table
from krt_traffic.replicas.lines import batch, record
from krt_traffic.replicas.reader import Reader
from krt_traffic.replicas.table import Tables

if TYPE_CHECKING:
    from pathlib import Path

PAYLOAD = Encoder("run", "p-0", "uid", 60)
SEGMENT = ("Dumping /data/kafka/foo-0/00000000000000000000.log", "Log starting offset: 0")
BEGIN = ("krt partition foo 0 1", *SEGMENT)
END = ("", "krt end 0", "krt done")


def header(base: int, last: int, *, valid: bool = True, control: bool = False) -> str:
    """A batch as Kafka 3.9.1 prints it."""
    return (
        f"baseOffset: {base} lastOffset: {last} count: {last - base + 1} baseSequence: -1 "
        "lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 3 "
        f"isTransactional: false isControl: {str(control).lower()} deleteHorizonMs: "
        "OptionalLong.empty position: 0 CreateTime: 1795267116224 size: 208 magic: 2 "
        f"compresscodec: gzip crc: 4018806839 isvalid: {str(valid).lower()}"
    )


def line(offset: int, text: str = "") -> str:
    """A record as Kafka 3.9.1 prints it."""
    shown = text or f"key: k payload: {PAYLOAD.encode(offset).decode()}"
    head = f"| offset: {offset} CreateTime: 1795267116224 keySize: 1 valueSize: 60 sequence: -1"
    return f"{head} headerKeys: [] {shown}"


def read(folder: Path, *lines: str) -> tuple[Reader, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the reader, the rows and the bounds of a dump."""
    bundle = Bundle(folder)
    reader = Reader(Tables(FolderSink(bundle.root), "kafka-1", 1), lambda: 77)
    for text in lines:
        reader.take(text)
    reader.close()
    rows, bounds = (
        pq.read_table(bundle.table(name)).to_pylist()
        if list(bundle.table(name).glob("*.parquet"))
        else []
        for name in ("replica_log", "replica_bounds")
    )
    return reader, rows, bounds


def test_reader_of_a_batch_gives_a_row_for_each_offset(tmp_path: Path) -> None:
    reader, rows, bounds = read(tmp_path, *BEGIN, header(0, 1), line(0), line(1), *END)
    assert [(row["offset"], row["seq"], row["producer"]) for row in rows] == [
        (0, 0, "p-0"),
        (1, 1, "p-0"),
    ]
    same = {"broker": 1, "topic": "foo", "partition": 0, "leader_epoch": 3, "batch": 0}
    same |= {"batch_last": 1, "size": 208, "crc": 4_018_806_839, "valid": True, "control": None}
    assert all(row.items() >= same.items() for row in rows)
    assert bounds == [
        {
            "broker": 1,
            "topic": "foo",
            "partition": 0,
            "taken_at": 77,
            "log_start": 0,
            "log_end": 2,
            "rows": 2,
            "problem": None,
        }
    ]
    assert (reader.done, reader.replicas, reader.rows, reader.problems) == (True, 1, 2, [])


def test_reader_of_a_text_that_looks_like_the_dump_keeps_to_the_record(tmp_path: Path) -> None:
    inside = (header(0, 1).replace("isvalid: true", "isvalid: maybe"), line(0), line(9), "", "krt ")
    strange = line(0, "payload: a")
    _, rows, bounds = read(tmp_path, *BEGIN, header(0, 1), strange, *inside, line(1), *END)
    assert [(row["offset"], row["seq"]) for row in rows] == [(0, None), (1, 1)]
    assert bounds[0]["problem"] is None


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ((header(0, 1), line(0)), "the dump broke off"),
        ((header(0, 1), line(0), "krt end 0"), "1 of 2 records of the batch at 0 were printed"),
        (("krt end 137",), "DumpLogSegments ended with 137: it printed no error"),
        (("krt end 1 Exception: why",), "DumpLogSegments ended with 1: Exception: why"),
        (("Found 5 invalid bytes at the end of 0.log", "krt end 0"), "Found 5 invalid bytes"),
    ],
)
def test_reader_of_an_incomplete_dump_names_the_problem(
    tmp_path: Path, lines: tuple[str, ...], problem: str
) -> None:
    reader, _, bounds = read(tmp_path, *BEGIN, *lines)
    assert problem in bounds[0]["problem"]
    assert f"foo-0: {bounds[0]['problem']}" == "foo-0: " + "; ".join(
        problem.removeprefix("foo-0: ") for problem in reader.problems
    )
    assert not reader.done


def test_reader_with_a_segment_missing_names_the_problem(tmp_path: Path) -> None:
    begin = ("krt partition foo 0 2", *SEGMENT)
    _, _, bounds = read(tmp_path, *begin, header(0, 0), line(0), *END)
    assert bounds[0]["problem"] == "1 of 2 segments were dumped"


def test_reader_of_an_empty_segment_takes_the_logs_end_from_it(tmp_path: Path) -> None:
    begin = ("krt partition foo 0 1", SEGMENT[0], "Log starting offset: 120")
    _, rows, bounds = read(tmp_path, *begin, *END)
    assert rows == []
    assert (bounds[0]["log_start"], bounds[0]["log_end"], bounds[0]["rows"]) == (120, 120, 0)


def test_reader_of_a_damaged_batch_keeps_offsets_and_only_certain_identities(
    tmp_path: Path,
) -> None:
    broken = line(0).replace("xx", "xy", 1)
    _, rows, bounds = read(tmp_path, *BEGIN, header(0, 2, valid=False), broken, line(1), *END)
    assert [(row["offset"], row["valid"], row["seq"]) for row in rows] == [
        (0, False, None),
        (1, False, 1),
        (2, False, None),
    ]
    assert bounds[0]["problem"] is None


def test_reader_of_a_marker_gives_a_row_without_identity(tmp_path: Path) -> None:
    marker = line(0, "endTxnMarker: ABORT coordinatorEpoch: 0")
    _, rows, _ = read(tmp_path, *BEGIN, header(0, 0, control=True), marker, *END)
    assert [(row["control"], row["seq"]) for row in rows] == [("abort", None)]


def test_tables_with_many_rows_write_files_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "ROWS_PER_FILE", 4)
    lines = [
        text
        for base in range(0, 9, 3)
        for text in (header(base, base + 2), *map(line, range(base, base + 3)))
    ]
    _, rows, bounds = read(tmp_path, *BEGIN, *lines, *END)
    assert [row["offset"] for row in rows] == list(range(9))
    assert bounds[0]["rows"] == 9
    names = sorted(path.name for path in (tmp_path / "replica_log").iterdir())
    assert names == ["kafka-1-000000.parquet", "kafka-1-000001.parquet"]


def test_batch_and_record_of_another_line_are_none() -> None:
    assert batch("baseOffset: 3") is None
    assert batch(header(0, 0) + " more") is None
    assert record("| offset: x y", control=False) is None
    assert record("| offset: 3", control=False) is None
