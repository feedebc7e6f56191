from __future__ import annotations

from pathlib import Path

from tests.unit.scoring.builders import END_ROW

from krt_contract.bundle import Bundle
from krt_contract.schemas import LOG
from krt_scoring.inputs.log_places import FolderLog


def spark_writes(target: str, text: str) -> None:
    """Leave what Spark leaves in a folder that it writes a table to."""
    folder = Path(target)
    folder.mkdir(parents=True)
    for name in ("part-0.parquet", "_SUCCESS", ".part-0.parquet.crc"):
        (folder / name).write_text(text)


def test_folder_log_published_has_the_tables_and_nothing_that_spark_noted(tmp_path: Path) -> None:
    place = FolderLog(Bundle(tmp_path))
    spark_writes(place.begin(), "rows")
    place.publish()
    assert [path.name for path in (tmp_path / "log").iterdir()] == ["part-0.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log"]


def test_folder_log_that_the_driver_writes_is_published_like_any_other(tmp_path: Path) -> None:
    place = FolderLog(Bundle(tmp_path))
    spark_writes(place.begin(), "of an attempt that ended")
    place.begin()
    writer = place.records()
    writer.write_open(LOG.empty_table())
    writer.roll()
    place.publish()
    assert [path.name for path in (tmp_path / "log").iterdir()] == ["scoring-000000.parquet"]


def test_folder_log_of_a_later_attempt_replaces_one_without_its_ends(tmp_path: Path) -> None:
    place = FolderLog(Bundle(tmp_path))
    for text in ("first", "second"):
        spark_writes(place.begin(), text)
        place.publish()
    assert (tmp_path / "log/part-0.parquet").read_text() == "second"


def test_folder_log_is_complete_once_its_ends_are_written(tmp_path: Path) -> None:
    place = FolderLog(Bundle(tmp_path))
    assert not place.complete()
    place.ends().write(END_ROW)
    assert place.complete()
    assert (tmp_path / "log_end_offsets/scoring-000000.parquet").exists()
