"""The same evidence gives the same bytes, however much was found in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.spark.job import rich

from krt_contract.bundle import Bundle
from krt_contract.stores.folder import FolderStore
from krt_scoring.anomalies.results import MAX_EXAMPLES
from krt_scoring.engine import session
from krt_scoring.history import ledger_tables
from krt_scoring.inputs import bundle_files, recording, run_info
from krt_scoring.inputs.evidence_places import StorePlace
from krt_scoring.outputs import scorecard, series
from krt_scoring.pipeline import assess

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from krt_scoring.pipeline import Assessment

PIECES = {
    1: {
        "spark.sql.shuffle.partitions": "1",
        session.PARTITIONS: "1",
        "spark.sql.files.minPartitionNum": "1",
        "spark.sql.files.maxPartitionBytes": "1g",
    },
    4: {
        "spark.sql.shuffle.partitions": "4",
        session.PARTITIONS: "4",
        "spark.sql.files.minPartitionNum": "4",
        "spark.sql.files.maxPartitionBytes": "32k",
    },
}
"""In how many pieces work is done: what is read, and what is shuffled."""


def score(spark: SparkSession, root: Path, pieces: int) -> Assessment:
    before = {name: str(spark.conf.get(name)) for name in PIECES[pieces]}
    for name, wanted in PIECES[pieces].items():
        spark.conf.set(name, wanted)
    try:
        return assess(spark, bundle_files.inspect(Bundle(root)))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def dump(result: Assessment) -> tuple[str, str]:
    """Return the bytes of scorecard and series."""
    assert result.series is not None
    return scorecard.dump(result.card), series.dump(result.series)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rich.write(tmp_path_factory.mktemp("rich"))


@pytest.fixture(scope="module")
def result(spark: SparkSession, root: Path) -> Assessment:
    return score(spark, root, pieces=1)


def test_assess_rich_bundle_finds_more_than_it_shows(result: Assessment) -> None:
    card = result.card
    found = card["anomalies"]
    cut = {name for name, told in found.items() if told["count"] > len(told["examples"])}
    assert len(cut) >= 12
    assert {len(found[name]["examples"]) for name in cut} == {MAX_EXAMPLES}
    assert any(row["gaps"] for row in card["availability"] if row["measured"])
    assert (card["verdict"], card["inconclusiveReasons"]) == ("Failed", [])


def test_assess_in_other_pieces_gives_the_same_bytes(
    spark: SparkSession, root: Path, result: Assessment
) -> None:
    assert dump(score(spark, root, pieces=4)) == dump(result)


def test_assess_files_in_another_order_give_the_same_bytes(
    spark: SparkSession, result: Assessment, tmp_path: Path
) -> None:
    turned = rich.write(tmp_path, turned=True)
    assert dump(score(spark, turned, pieces=4)) == dump(result)


@pytest.mark.long
def test_assess_side_tables_outside_the_plan_give_the_same_bytes(
    spark: SparkSession, root: Path, result: Assessment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_tables, "IN_PLAN_ROWS", -1)
    assert dump(score(spark, root, pieces=1)) == dump(result)


def test_read_counts_tables_as_spark_does(spark: SparkSession, root: Path) -> None:
    bundle = Bundle(root)
    recorded = recording.load(bundle_files.inspect(bundle), run_info.load(bundle.run_json))
    found = ledger_tables.read(spark, recorded)
    for table in ("log", "consume"):
        assert found.counted[table] == getattr(found, table).count() > 0


def test_read_names_the_writers_of_tables_as_spark_does(spark: SparkSession, root: Path) -> None:
    bundle = Bundle(root)
    recorded = recording.load(bundle_files.inspect(bundle), run_info.load(bundle.run_json))
    found = ledger_tables.read(spark, recorded)
    for table, column in (("produce", "producer_incarnation"), ("consume", "incarnation")):
        rows = getattr(found, table).select(column).distinct().collect()
        assert found.writers[table] == {row[column] for row in rows}
    assert "log" not in found.writers


@pytest.mark.long
def test_krt_score_of_several_bundles_gives_each_the_same_bytes(
    root: Path, result: Assessment, tmp_path: Path
) -> None:
    copies = [tmp_path / name for name in ("first", "second")]
    for copy in copies:
        shutil.copytree(root, copy)
    command = [sys.executable, "-m", "krt_scoring.cli", *map(str, copies), "--cores", "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert [line.split(": ")[:2] for line in done.stdout.splitlines()] == [
        [str(copy), f"Failed, score {result.card['score']}"] for copy in copies
    ]
    for copy in copies:
        card, run = dump(result)
        assert Bundle(copy).scorecard.read_text(encoding="utf-8") == card
        assert Bundle(copy).series.read_text(encoding="utf-8") == run


@pytest.mark.long
def test_assess_a_bundle_of_a_store_gives_the_same_bytes(
    spark: SparkSession, root: Path, result: Assessment, tmp_path: Path
) -> None:
    store = FolderStore(tmp_path / "objects")
    key = "/".join(root.parts[-3:])
    for path in sorted(item for item in root.rglob("*") if item.is_file()):
        store.put(_key(f"{key}/{path.relative_to(root).as_posix()}"), path.read_bytes())
    place = StorePlace(store, key, tmp_path / "copy")
    inspected = place.inspect()
    assert all(inspected.uris[file] for files in inspected.files.values() for file in files)
    assert dump(assess(spark, inspected)) == dump(result)


def _key(path: str) -> str:
    """Return the key that an object store has for a file of a bundle."""
    above, _, name = path.rpartition("/")
    folder = above.rpartition("/")[2]
    if folder == "log":
        return f"{above}/t-scoring-1/{name}"
    if folder == "log_end_offsets":
        return f"{above}/t-scoring-1-000000.000000.parquet"
    stem, _, suffix = name.rpartition(".")
    return path if suffix != "parquet" else f"{above}/{stem}.000000.{suffix}"
