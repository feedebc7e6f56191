"""Replicas of real brokers, through Kafka's own tool and our pipe, into the evidence."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.replicas.conftest import CODECS, PARTITIONS, TOPIC, Dump, dump
from tests.contract.traffic.local_kafka import jars
from tests.contract.traffic.local_kraft import NEWEST

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.replicas.conftest import Brokers

BATCH = ("offset", "leader_epoch", "batch", "batch_last", "size", "crc", "valid", "control")


def of(rows: list[dict[str, Any]], broker: int) -> list[dict[str, Any]]:
    return [row for row in rows if row["broker"] == broker]


def columns_of(rows: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in rows]


def test_dump_of_each_broker_is_complete_and_reports_it(dumps: tuple[Dump, Dump]) -> None:
    for each in dumps:
        assert each.code == 0
        assert each.message["counts"]["replicas"] == PARTITIONS
        assert each.message["counts"]["problems"] == 0
        assert each.message["error"] is None
    rows = len(dumps[0].table("replica_log"))
    assert sum(each.message["counts"]["rows"] for each in dumps) == rows


@pytest.mark.parametrize("partition", range(PARTITIONS))
def test_dump_of_each_replica_has_the_records_a_consumer_reads(
    brokers: Brokers, dumps: tuple[Dump, Dump], partition: int
) -> None:
    read, end = brokers.read(partition), brokers.end(partition)
    for broker in range(2):
        mine = of(dumps[0].rows(partition), broker)
        assert [row["offset"] for row in mine] == list(range(end))
        dumped = {
            row["offset"]: (row["producer"], row["producer_incarnation"], row["seq"])
            if row["seq"] is not None
            else None
            for row in mine
            if row["control"] is None
        }
        assert dumped == read
        assert {row["run_uid"] for row in mine if row["seq"] is not None} == {"run"}
        (bounds,) = [
            row
            for row in dumps[0].table("replica_bounds")
            if (row["broker"], row["partition"]) == (broker, partition)
        ]
        known = (bounds["log_start"], bounds["log_end"], bounds["rows"], bounds["problem"])
        assert known == (0, end, end, None)


@pytest.mark.parametrize("partition", range(PARTITIONS))
def test_dump_of_the_replicas_of_a_correct_kafka_has_equal_batches(
    dumps: tuple[Dump, Dump], partition: int
) -> None:
    zero, one = (columns_of(of(dumps[0].rows(partition), broker), *BATCH) for broker in range(2))
    assert zero == one
    rows = of(dumps[0].rows(partition), 0)
    # Written by two leaders, in batches of several records, over several segments.
    assert len({row["leader_epoch"] for row in rows}) == 2
    assert max(row["batch_last"] - row["batch"] for row in rows) > 0
    assert all(row["valid"] for row in rows)


def test_dump_has_every_codec_and_both_markers(brokers: Brokers, dumps: tuple[Dump, Dump]) -> None:
    rows = dumps[0].rows(1)
    incarnations = {row["producer_incarnation"] for row in rows}
    assert incarnations >= {f"uid-{codec}" for codec in CODECS}
    markers = [row["control"] for row in of(rows, 0) if row["control"]]
    assert markers == ["abort", "commit"]
    segments = list(brokers.log_dirs(0).glob(f"{TOPIC}-1/*.log"))
    assert len(segments) > 1


def test_dump_taken_again_replaces_the_first(
    brokers: Brokers, dumps: tuple[Dump, Dump], tmp_path: Path
) -> None:
    root = tmp_path / "evidence"
    shutil.copytree(dumps[0].root, root)
    again = dump(tmp_path, brokers.brokers[0].libs, brokers.log_dirs(0), 0, root)
    assert len(again.table("replica_log")) == len(dumps[0].table("replica_log"))
    assert len(again.table("replica_bounds")) == 2 * PARTITIONS


def test_dump_by_the_tool_of_the_newest_kafka_has_the_same_rows(
    brokers: Brokers, dumps: tuple[Dump, Dump], tmp_path: Path
) -> None:
    """The tool moved to another package, and its lines are read by their text."""
    found = dump(tmp_path, jars(NEWEST), brokers.log_dirs(0), 0)
    assert found.message["counts"]["problems"] == 0
    for table in ("replica_log", "replica_bounds"):
        rows, expected = (
            sorted(({**row, "taken_at": None} for row in of(each.table(table), 0)), key=str)
            for each in (found, dumps[0])
        )
        assert rows == expected


@pytest.fixture
def copied(brokers: Brokers, tmp_path: Path) -> Path:
    """A copy of what broker 0 holds of the topic, and beside it what must not be read."""
    target = tmp_path / "kafka"
    for number in range(PARTITIONS):
        shutil.copytree(brokers.log_dirs(0) / f"{TOPIC}-{number}", target / f"{TOPIC}-{number}")
    shutil.copytree(target / f"{TOPIC}-0", target / f"{TOPIC}-0.0a1b-delete")
    shutil.copytree(target / f"{TOPIC}-0", target / f"{TOPIC}-0-1")
    return target


def first_segment(folder: Path, partition: int) -> Path:
    return min((folder / f"{TOPIC}-{partition}").glob("*.log"))


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def position(rows: list[dict[str, Any]], batch: int) -> int:
    """Return where a batch of the first segment lies in it."""
    sizes = {row["batch"]: row["size"] for row in rows if row["batch"] < batch}
    return sum(sizes.values())


def test_dump_of_damaged_bytes_marks_their_batch_invalid(
    brokers: Brokers, dumps: tuple[Dump, Dump], copied: Path, tmp_path: Path
) -> None:
    # In the padding of an uncompressed record, which changes no length.
    rows = of(dumps[0].rows(0), 0)
    first = next(row for row in rows if row["producer_incarnation"] == "uid-none")
    flip(first_segment(copied, 0), position(rows, first["batch"]) + 61 + 100)
    found = dump(tmp_path / "work", brokers.brokers[0].libs, copied, 0)
    damaged = [row["offset"] for row in found.rows(0) if not row["valid"]]
    assert damaged == list(range(first["batch"], first["batch_last"] + 1))
    assert [row["offset"] for row in found.rows(0)] == [row["offset"] for row in rows]
    # The record itself has no identity any more, its neighbours keep theirs.
    gone = [row["offset"] for row in found.rows(0) if row["seq"] is None]
    assert set(gone) - {row["offset"] for row in rows if row["seq"] is None} == {first["offset"]}
    assert found.bounds(0)["problem"] is None


def test_dump_that_the_tool_gives_up_is_reported_and_the_rest_is_complete(
    brokers: Brokers, dumps: tuple[Dump, Dump], copied: Path, tmp_path: Path
) -> None:
    # In compressed bytes: the tool cannot read the batch.
    rows = of(dumps[0].rows(0), 0)
    squeezed = next(row for row in rows if row["producer_incarnation"] == "uid-gzip")
    flip(first_segment(copied, 0), position(rows, squeezed["batch"]) + 61 + 40)
    found = dump(tmp_path / "work", brokers.brokers[0].libs, copied, 0)
    assert found.code == 0
    assert "DumpLogSegments ended with 1: Exception in thread" in found.bounds(0)["problem"]
    assert found.message["counts"]["problems"] == 1
    assert found.message["error"].startswith(f"{TOPIC}-0: ")
    last = found.rows(0)[-1]
    assert (last["offset"], last["valid"]) == (squeezed["batch_last"], False)
    assert found.bounds(1)["problem"] is None
    assert columns_of(found.rows(1), *BATCH) == columns_of(of(dumps[0].rows(1), 0), *BATCH)


def test_dump_of_a_torn_end_is_reported(brokers: Brokers, copied: Path, tmp_path: Path) -> None:
    newest = max((copied / f"{TOPIC}-1").glob("*.log"), key=lambda path: path.name)
    newest.write_bytes(newest.read_bytes()[:-10])
    found = dump(tmp_path / "work", brokers.brokers[0].libs, copied, 0)
    assert "invalid bytes at the end of" in found.bounds(1)["problem"]
    assert found.bounds(1)["log_end"] < brokers.end(1)
    assert found.bounds(0)["problem"] is None


def test_dump_of_an_empty_broker_has_no_rows(brokers: Brokers, tmp_path: Path) -> None:
    empty = tmp_path / "kafka"
    empty.mkdir()
    found = dump(tmp_path / "work", brokers.brokers[0].libs, empty, 0)
    assert (found.code, found.message["counts"]["replicas"]) == (0, 0)
    assert found.table("replica_bounds") == []
