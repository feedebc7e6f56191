"""What is known of a small history without asking the executors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.job import bundles

from krt_contract.bundle import Bundle
from krt_scoring.history import facts, ledger_tables, unreadable
from krt_scoring.inputs import bundle_files, recording, run_info

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

GROUP = "facts"


def test_facts_of_a_small_intact_history_run_no_job(spark: SparkSession, tmp_path: Path) -> None:
    bundle = Bundle(bundles.make(tmp_path))
    recorded = recording.load(bundle_files.inspect(bundle), run_info.load(bundle.run_json))
    tables = ledger_tables.read(spark, recorded)
    context = spark.sparkContext
    context.setJobGroup(GROUP, "facts of a small history")
    try:
        found = facts.collect(unreadable.identify(tables))
    finally:
        context.setJobGroup("", "")
    assert found.bounds
    assert found.starts
    assert list(context.statusTracker().getJobIdsForGroup(GROUP)) == []
