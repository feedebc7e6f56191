"""Topics that hold little are read without Spark, once and whole."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.scoring.test_evidence_places import LOG_ROW

from krt_contract.bundle import Bundle
from krt_scoring.engine import concurrency
from krt_scoring.inputs import topic_client, topics
from krt_scoring.inputs.log_places import FolderLog

if TYPE_CHECKING:
    from pathlib import Path

BOUND = topics.PartitionBound("foo", 0, 1, 2, 5, 5, 0, 0, (0,), settled=True)
ANY: Any = None


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[list[topics.PartitionBound]]:
    """What the client was asked to read; it finds one record."""
    asked: list[list[topics.PartitionBound]] = []

    def read(_run: object, bounds: list[topics.PartitionBound]) -> pa.Table:
        asked.append(bounds)
        return LOG_ROW

    monkeypatch.setattr(topic_client, "read", read)
    return asked


def ends(root: Path) -> list[tuple[int, int, int]]:
    rows = pq.read_table(root / "log_end_offsets").to_pylist()
    return [(row["read_from"], row["read_to"], row["rows_read"]) for row in rows]


def test_few_records_are_read_once(tmp_path: Path, reads: list[Any]) -> None:
    leaderless = replace(BOUND, partition=1, leader=topics.NO_LEADER)
    for _ in range(2):
        assert topics.read_few(ANY, [BOUND, leaderless], FolderLog(Bundle(tmp_path)))
    assert reads == [[BOUND]]
    assert pq.read_table(tmp_path / "log").equals(LOG_ROW)
    assert ends(tmp_path) == [(2, 5, 1), (2, 2, 0)]


def test_many_records_are_left_to_spark(tmp_path: Path, reads: list[Any]) -> None:
    many = replace(BOUND, high_watermark=2 + topics.FEW_RECORDS + 1)
    assert not topics.read_few(ANY, [many], FolderLog(Bundle(tmp_path)))
    assert not reads
    assert not list(tmp_path.iterdir())


def test_many_records_that_an_attempt_has_read_are_not_read_again(
    tmp_path: Path, reads: list[Any]
) -> None:
    place = FolderLog(Bundle(tmp_path))
    topics.read_few(ANY, [BOUND], place)
    many = replace(BOUND, high_watermark=2 + topics.FEW_RECORDS + 1)
    assert topics.read_few(ANY, [many], place)
    assert reads == [[BOUND]]


def test_topics_without_a_record_have_their_ends_alone(tmp_path: Path, reads: list[Any]) -> None:
    assert topics.read_few(ANY, [replace(BOUND, high_watermark=2)], FolderLog(Bundle(tmp_path)))
    assert not reads
    assert ends(tmp_path) == [(2, 2, 0)]


def test_started_work_hands_over_its_result_or_its_error() -> None:
    assert concurrency.start(lambda: 7).result(10) == 7

    def fail() -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        concurrency.start(fail).result(10)


def test_started_work_does_not_keep_the_process() -> None:
    release = threading.Event()
    before = set(threading.enumerate())
    future = concurrency.start(release.wait)
    (thread,) = set(threading.enumerate()) - before
    assert thread.daemon
    release.set()
    assert future.result(10)
