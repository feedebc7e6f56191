"""The same evidence gives the same bytes, however much was found in it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.job import rich

from krt_contract.bundle import Bundle
from krt_scoring.anomalies.findings import MAX_EXAMPLES
from krt_scoring.engine import jvm, session
from krt_scoring.inputs import bundle_files
from krt_scoring.outputs.scorecard import dump
from krt_scoring.pipeline import assess

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

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


def score(spark: SparkSession, root: Path, pieces: int) -> dict[str, Any]:
    before = {name: str(spark.conf.get(name)) for name in PIECES[pieces]}
    for name, wanted in PIECES[pieces].items():
        spark.conf.set(name, wanted)
    try:
        return assess(spark, bundle_files.inspect(Bundle(root))).card
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rich.write(tmp_path_factory.mktemp("rich"))


@pytest.fixture(scope="module")
def card(spark: SparkSession, root: Path) -> dict[str, Any]:
    return score(spark, root, pieces=1)


def test_assess_rich_bundle_finds_more_than_it_shows(card: dict[str, Any]) -> None:
    found = card["anomalies"]
    cut = {name for name, told in found.items() if told["count"] > len(told["examples"])}
    assert len(cut) >= 12
    assert {len(found[name]["examples"]) for name in cut} == {MAX_EXAMPLES}
    assert any(row["gaps"] for row in card["availability"] if row["measured"])
    assert (card["verdict"], card["inconclusiveReasons"]) == ("Failed", [])


def test_assess_in_other_pieces_gives_the_same_bytes(
    spark: SparkSession, root: Path, card: dict[str, Any]
) -> None:
    assert dump(score(spark, root, pieces=4)) == dump(card)


def test_assess_files_in_another_order_give_the_same_bytes(
    spark: SparkSession, card: dict[str, Any], tmp_path: Path
) -> None:
    turned = rich.write(tmp_path, turned=True)
    assert dump(score(spark, turned, pieces=4)) == dump(card)


def test_assess_in_a_plain_session_gives_the_same_bytes(
    spark: SparkSession, root: Path, card: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in jvm.CLASSES:
        monkeypatch.delattr(spark.sparkContext._jvm, name)  # noqa: SLF001 (as the engine keeps them)
    spark.conf.set(session.PLAIN, "true")
    try:
        plain = score(spark, root, pieces=1)
    finally:
        spark.conf.set(session.PLAIN, "false")
    assert dump(plain) == dump(card)


LARGE = """
import sys
from pathlib import Path
from krt_contract.bundle import Bundle
from krt_scoring.engine import session
from krt_scoring.inputs import bundle_files
from krt_scoring.outputs.scorecard import dump
from krt_scoring.pipeline import assess

spark = session.local(session.LARGE_ROWS, cores=2)
card = assess(spark, bundle_files.inspect(Bundle(Path(sys.argv[1])))).card
Path(sys.argv[2]).write_text(dump(card), encoding="utf-8")
"""


def test_assess_with_the_flags_of_a_large_history_gives_the_same_bytes(
    root: Path, card: dict[str, Any], tmp_path: Path
) -> None:
    scorecard = tmp_path / "scorecard.json"
    done = subprocess.run(
        [sys.executable, "-c", LARGE, str(root), str(scorecard)],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert scorecard.read_text(encoding="utf-8") == dump(card)
