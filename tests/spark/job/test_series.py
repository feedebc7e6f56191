"""The series of a run, compared with its ledgers counted in plain Python."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.job import bundles
from tests.spark.job.bundles import SECOND, T0, Scenario

from krt_contract.bundle import Bundle
from krt_scoring.inputs import bundle_files
from krt_scoring.metrics.histogram import bin_of, upper_edge
from krt_scoring.outputs import files, series
from krt_scoring.pipeline import assess

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from krt_scoring.pipeline import Assessment

Rows = list[dict[str, Any]]
LOST, FAILED = 3, 5
"""Sends at these numbers are not in the log, or failed."""


def made() -> bundles.Rows:
    """A run with a stall, in which one record is lost, one failed and one is never delivered."""
    rows = bundles.simulate(Scenario())
    sends = rows.tables["produce"]
    lost, failed, late = sends[LOST], sends[FAILED], sends[-1]
    failed |= {"outcome": "failed", "offset": None, "error": "_QUEUE_FULL"}
    for table, gone in (("log", (lost, failed)), ("consume", (lost, failed, late))):
        keys = {(row["producer"], row["seq"]) for row in gone}
        rows.tables[table] = [
            row for row in rows.tables[table] if (row["producer"], row["seq"]) not in keys
        ]
    return rows


@pytest.fixture(scope="module")
def rows() -> bundles.Rows:
    return made()


@pytest.fixture(scope="module")
def result(
    spark: SparkSession, rows: bundles.Rows, tmp_path_factory: pytest.TempPathFactory
) -> Assessment:
    root = bundles.write(tmp_path_factory.mktemp("series"), rows, bundles.plan(Scenario()))
    return assess(spark, bundle_files.inspect(Bundle(root)))


@pytest.fixture(scope="module")
def found(result: Assessment) -> dict[str, Any]:
    assert result.series is not None
    return result.series


def second(at: int) -> int:
    return (at - T0) // SECOND


def test_series_of_sends_counts_each_in_the_second_in_which_it_ended(
    found: dict[str, Any], rows: bundles.Rows, result: Assessment
) -> None:
    assert (found["start"], found["step"]) == (T0, SECOND)
    for item in found["sends"]:
        assert item["topic"] == "foo"
        for outcome in ("acked", "failed", "unknown"):
            ended = Counter(
                second(row["done_at"])
                for row in rows.tables["produce"]
                if row["producer"] == f"{item['producer']}-0" and row["outcome"] == outcome
            )
            assert item[outcome] == [ended[step] for step in range(found["count"])]
    acked = sum(sum(item["acked"]) for item in found["sends"])
    assert acked == result.card["ledger"]["acked"]


def latencies(rows: bundles.Rows, *, end_to_end: bool) -> dict[int, list[int]]:
    received = {
        (row["producer"], row["seq"]): row["delivered_at"] for row in rows.tables["consume"]
    }
    expected: dict[int, list[int]] = {}
    for row in rows.tables["produce"]:
        key = (row["producer"], row["seq"])
        if row["outcome"] != "acked" or (end_to_end and key not in received):
            continue
        done = max(received[key], row["done_at"]) if end_to_end else row["done_at"]
        expected.setdefault(second(row["scheduled_at"]), []).append(done - row["scheduled_at"])
    return expected


def percentile(values: list[int], percent: int) -> int:
    rank = -(-len(values) * percent // 100)
    return min(upper_edge(bin_of(sorted(values)[rank - 1])), max(values))


@pytest.mark.parametrize("end_to_end", [False, True])
def test_series_of_latencies_has_the_percentiles_of_what_was_due_in_a_second(
    found: dict[str, Any], rows: bundles.Rows, *, end_to_end: bool
) -> None:
    columns = found["latency"]["endToEnd"][0] if end_to_end else found["latency"]["write"]
    expected = latencies(rows, end_to_end=end_to_end)
    for step in range(found["count"]):
        values = expected.get(step)
        wanted: tuple[int | None, ...] = (0, None, None, None)
        if values:
            wanted = (len(values), percentile(values, 50), percentile(values, 99), max(values))
        assert tuple(columns[name][step] for name in ("count", "p50", "p99", "max")) == wanted


def test_series_of_lag_counts_what_is_acked_and_not_delivered_but_not_what_is_lost(
    found: dict[str, Any], rows: bundles.Rows
) -> None:
    (lag,) = found["lag"]
    assert lag["group"] == bundles.GROUP
    lost = rows.tables["produce"][LOST]
    received = {
        (row["producer"], row["seq"]): row["delivered_at"] for row in rows.tables["consume"]
    }
    for step, number in enumerate(lag["records"]):
        end = T0 + (step + 1) * SECOND
        waiting = [
            row
            for row in rows.tables["produce"]
            if row["outcome"] == "acked" and row is not lost and row["done_at"] < end
        ]
        late = [r for r in waiting if received.get((r["producer"], r["seq"]), end) >= end]
        assert number == len(late)
    assert lag["records"][-1] == 1


def test_series_of_the_cluster_shows_states_rebalances_and_events(found: dict[str, Any]) -> None:
    assert [item["partition"] for item in found["partitions"]] == [0, 1, 2]
    stalled = found["partitions"][0]
    assert stalled["leader"] == [0, 1, 1]
    assert stalled["isr"] == [[0, 1, 2], [1, 2], [0, 1, 2]]
    assert stalled["replicas"] == [0, 1, 2]
    assert max(found["underReplicated"]["partitions"]) == 1
    assert [(item["partitions"], item["members"]) for item in found["rebalances"]] == [(3, 1)]
    assert found["events"]["event"] == ["unregistered"]
    assert found["phases"]["phase"] == ["Warmup", "Injecting", "Draining"]
    (fault,) = found["faults"]
    assert fault["injectedAt"] == T0 + 5 * SECOND


def test_write_puts_the_series_beside_the_scorecard(result: Assessment, tmp_path: Path) -> None:
    bundle = Bundle(tmp_path)
    files.write(bundle, result)
    text = bundle.series.read_text()
    assert result.series is not None
    assert text == series.dump(result.series)
    assert json.loads(text)["count"] == result.series["count"]
    assert ", " not in text
