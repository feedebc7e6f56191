"""A bundle from its files to its scorecard."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.job import bundles
from tests.spark.job.bundles import SECOND, T0, Scenario

from krt_contract.bundle import Bundle
from krt_contract.timeline import Event
from krt_scoring.engine import session
from krt_scoring.inputs import bundle_files
from krt_scoring.metrics import gaps
from krt_scoring.outputs import files
from krt_scoring.outputs.scorecard import dump
from krt_scoring.pipeline import assess

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def score(spark: SparkSession, root: Path) -> dict[str, Any]:
    return assess(spark, bundle_files.inspect(Bundle(root))).card


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundles.make(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def card(spark: SparkSession, clean: Path) -> dict[str, Any]:
    return score(spark, clean)


def test_assess_of_a_correct_run_passes(card: dict[str, Any]) -> None:
    assert (card["verdict"], card["inconclusiveReasons"]) == ("Passed", [])
    assert card["score"] >= 99
    assert card["ledger"]["acked"] == card["ledger"]["attempted"] == 6_000
    assert card["ledger"]["balanced"] == 1
    assert [item["met"] for item in card["objectives"]] == [True] * 4


def test_assess_of_a_stall_measures_and_breaks_it_down(card: dict[str, Any]) -> None:
    rows = {(row["direction"], row["partition"]): row for row in card["availability"]}
    (gap,) = rows["write", 0]["gaps"]
    assert abs(gap["duration"] - 2 * SECOND) <= bundles.STEP * 6
    assert gap["fault"] == "leader-down"
    assert gap["breakdown"]["detect"] == SECOND
    assert gap["breakdown"]["elect"] == SECOND // 2
    assert sum(gap["breakdown"].values()) == gap["to"] - (T0 + 5 * SECOND)
    assert [rows["write", p]["count"] for p in (1, 2)] == [0, 0]
    assert all(row["measured"] for row in card["availability"])


def test_assess_of_a_stall_measures_recovery_and_latency(card: dict[str, Any]) -> None:
    (found,) = card["recovery"]["faults"]
    assert found["isrRestoredAt"] == T0 + 8 * SECOND + SECOND // 2
    assert found["complete"]
    assert SECOND // 2 <= found["duration"] <= SECOND // 2 + 20_000
    write = card["latency"]["write"]
    # What was in flight when the leader died belongs to the fault.
    assert write["before"]["max"] <= bundles.ACK
    assert write["during"]["max"] >= 2 * SECOND - bundles.STEP
    assert sum(write[part]["count"] for part in write) == 6_000


def test_assess_says_below_what_a_gap_cannot_be_seen(card: dict[str, Any]) -> None:
    for row in card["availability"]:
        assert row["detectionLimit"] >= gaps.LEAST_LIMIT
        # What was not seen has no length.
        assert ("max" in row, "total" in row) == (bool(row["count"]),) * 2
    objectives = {item["name"]: item for item in card["objectives"]}
    assert objectives["maxReadUnavailability"]["detectionLimit"] >= gaps.LEAST_LIMIT
    assert objectives["maxWriteUnavailability"]["value"] >= 2 * SECOND - bundles.STEP
    assert card["warnings"] == []


def test_assess_keeps_the_start_apart_and_measures_leaders(card: dict[str, Any]) -> None:
    assert T0 < card["steadyFrom"] < T0 + 5 * SECOND
    assert card["latency"]["endToEnd"]["startup"]["count"] > 0
    (leaders,) = card["leadership"]
    # The session of the dead leader ends half a second before the next one is elected.
    half = SECOND // 2
    assert leaders["withoutLiveLeader"] == {"partitions": 1, "longest": half, "total": half}
    assert leaders["offlinePartitions"] == 0
    assert "transactions" not in card


def test_assess_with_expectations_evaluates_them_apart_from_the_verdict(
    spark: SparkSession, tmp_path: Path
) -> None:
    stall = {"of": "Writes", "longerThan": "1s", "min": 1, "max": 1}
    fault = {"name": "leader-down", "leaderChanges": {"min": 1}, "unavailability": [stall]}
    scenario = Scenario(
        expect={"loss": "Required", "partitionsPerKey": {"max": 1}, "faults": [fault]}
    )
    root = bundles.make(tmp_path, scenario)
    result = assess(spark, bundle_files.inspect(Bundle(root)))
    assert result.card["verdict"] == "Passed"
    assert {item["expectation"]: item["result"] for item in result.card["expectationResults"]} == {
        "loss": "NotMet",
        "partitionsPerKey": "Met",
        "leader-down.leaderChanges": "Met",
        "leader-down.unavailability Writes longer than 1s": "Met",
    }
    worst = result.card["partitions"][0]
    assert (worst["worst"]["isr"], worst["after"]["isr"]) == ([1, 2], [0, 1, 2])
    files.write(Bundle(root), result)
    report = Bundle(root).report.read_text()
    assert ">not met<" in report
    assert "leader 1, ISR 1, 2" in report
    assert "expected at least one, and only what the settings" in Bundle(root).junit.read_text()


def test_assess_with_other_files_and_parallelism_gives_the_same_bytes(
    spark: SparkSession, card: dict[str, Any], tmp_path: Path
) -> None:
    scenario = Scenario()
    rows = bundles.simulate(scenario)
    for table in rows.tables.values():
        table.reverse()
    root = bundles.write(tmp_path, rows, bundles.plan(scenario), files=5)
    numbers = ("spark.sql.shuffle.partitions", session.PARTITIONS)
    before = {name: str(spark.conf.get(name)) for name in numbers}
    for name in numbers:
        spark.conf.set(name, "5")
    try:
        assert dump(score(spark, root)) == dump(card)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.mark.parametrize("killed", [False, True], ids=["closed", "killed"])
def test_assess_with_a_record_never_sent_fails(
    spark: SparkSession, tmp_path: Path, *, killed: bool
) -> None:
    scenario = Scenario()
    rows = bundles.simulate(scenario)
    last = max((r for r in rows.tables["log"] if r["partition"] == 1), key=lambda r: r["offset"])
    who = last["producer_incarnation"]
    # Of one that was killed, only whole bytes say how much it sent.
    extra = {"offset": last["offset"] + 1, "seq": 10**6, "checksum_ok": not killed}
    rows.tables["log"].append(last | extra)
    for row in rows.tables["log_end_offsets"]:
        if row["partition"] == 1:
            row.update(
                dict.fromkeys(("high_watermark", "last_stable", "read_to"), extra["offset"] + 1)
            )
            row["rows_read"] += 1
    if killed:
        closes = rows.tables["producer_summary"]
        rows.tables["producer_summary"] = [r for r in closes if r["producer_incarnation"] != who]
        rows.events.append(Event(T0, 0, "member", "killed", last["producer"], {"uid": who}))
    card = score(spark, bundles.write(tmp_path, rows, bundles.plan(scenario)))
    assert (card["verdict"], card["inconclusiveReasons"]) == ("Failed", [])
    found = {name: item["count"] for name, item in card["anomalies"].items() if item["count"]}
    assert found == {"corrupt-payload": 1}
    ledger = card["ledger"]
    assert (ledger["attempted"], ledger["balanced"], ledger["unledgered"]) == (6_000, 1, 0)


def lose(rows: bundles.Rows, partition: int) -> dict[str, Any]:
    """Take the last record of a partition away: in the log of no one, delivered to no one."""
    own = (row for row in rows.tables["log"] if row["partition"] == partition)
    last = max(own, key=lambda row: row["offset"])
    same = {key: last[key] for key in ("producer_incarnation", "seq")}
    for table in ("log", "consume"):
        rows.tables[table] = [
            row for row in rows.tables[table] if {key: row[key] for key in same} != same
        ]
    for row in rows.tables["log_end_offsets"]:
        if row["partition"] == partition:
            row["high_watermark"] = row["last_stable"] = row["read_to"] = last["offset"]
            row["rows_read"] = last["offset"]
    return last


@pytest.mark.parametrize("stands", [True, False], ids=["beside", "within"])
def test_assess_with_an_unsettled_partition_voids_what_was_found_there_alone(
    spark: SparkSession, tmp_path: Path, *, stands: bool
) -> None:
    scenario = Scenario(sends=1_200, stall=None)
    rows = bundles.simulate(scenario)
    lost = [lose(rows, partition) for partition in ((0, 1) if stands else (0,))]
    for row in rows.tables["log_end_offsets"]:
        row["settled"] = row["partition"] != 0
    found = score(spark, bundles.write(tmp_path, rows, bundles.plan(scenario)))
    reasons = {
        item["subject"]: item["scope"]
        for item in found["inconclusiveReasons"]
        if item["code"] == "LogNotStable"
    }
    assert reasons == {"foo-0": {"tables": ["log"], "partitions": ["foo-0"]}}
    item = found["anomalies"]["lost-write"]
    assert (item["violations"], item["void"]) == (len(lost), 1)
    assert found["verdict"] == ("Failed" if stands else "Inconclusive")
    shown = [(row["partition"], row.get("void", False)) for row in item["examples"]]
    assert shown == ([(1, False), (0, True)] if stands else [(0, True)])
    if stands:
        assert "not judged, since evidence is missing (LogNotStable foo-0)" in found["summary"]


def test_assess_with_a_lost_record_fails(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario()
    rows = bundles.simulate(scenario)
    last = lose(rows, 1)
    root = bundles.write(tmp_path, rows, bundles.plan(scenario))
    found = score(spark, root)
    assert (found["verdict"], found["score"]) == ("Failed", 0)
    lost = found["anomalies"]["lost-write"]
    assert (lost["count"], lost["class"]) == (1, "Violation")
    (example,) = lost["examples"]
    assert (example["producer"], example["seq"]) == (last["producer"], last["seq"])
    assert "lost-write 1" in found["summary"]


def test_assess_with_compare_replicas_compares_them(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(replicas=True)
    rows = bundles.simulate(scenario)
    root = bundles.write(tmp_path / "whole", rows, bundles.plan(scenario))
    whole = score(spark, root)
    assert (whole["verdict"], whole["inconclusiveReasons"]) == ("Passed", [])
    assert [row["compared"] for row in whole["replicas"]] == [[0, 1, 2]] * 3
    assert whole["replicas"][0]["replicas"][1] == {"broker": 1, "logStart": 0, "logEnd": 2_000}
    # One replica is not in the evidence, and of another one batch is of another epoch.
    for table in ("replica_log", "replica_bounds"):
        kept = [row for row in rows.tables[table] if (row["broker"], row["partition"]) != (2, 1)]
        rows.tables[table] = kept
    odd = next(row for row in rows.tables["replica_log"] if row["broker"] == row["partition"] == 0)
    odd["leader_epoch"] = 1
    found = score(spark, bundles.write(tmp_path / "odd", rows, bundles.plan(scenario)))
    assert [(reason["code"], reason["subject"]) for reason in found["inconclusiveReasons"]] == [
        ("ReplicaNotDumped", "foo-1 on broker 2")
    ]
    assert (found["verdict"], found["score"]) == ("Failed", 0)
    apart = found["anomalies"]["replica-divergence"]
    assert (apart["count"], apart["class"]) == (1, "Violation")
    (example,) = apart["examples"]
    assert (example["partition"], example["offset"], example["tag"]) == (0, 0, "leaderEpoch")
    # What the log holds around it is shown as with every other anomaly.
    assert {"sent", "log", "delivered"} == {row["what"] for row in example["history"]}


def test_assess_with_a_truncated_ledger_is_inconclusive(
    spark: SparkSession, clean: Path, tmp_path: Path
) -> None:
    root = tmp_path / "ns" / "t" / "run-uid"
    shutil.copytree(clean, root)
    path = root / "consume" / "uid-c-0-000001.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    before = {item: item.read_bytes() for item in root.rglob("*.parquet")}
    found = score(spark, root)
    assert found["verdict"] == "Inconclusive"
    assert "score" not in found
    assert ("FileUnreadable", "consume/uid-c-0-000001.parquet") in [
        (reason["code"], reason["subject"]) for reason in found["inconclusiveReasons"]
    ]
    assert {item: item.read_bytes() for item in root.rglob("*.parquet")} == before


def test_assess_with_another_schema_version_is_inconclusive(
    spark: SparkSession, clean: Path, tmp_path: Path
) -> None:
    root = tmp_path / "ns" / "t" / "run-uid"
    shutil.copytree(clean, root)
    document = json.loads((root / "run.json").read_text())
    (root / "run.json").write_text(json.dumps({**document, "schemaVersion": 1}))
    result = assess(spark, bundle_files.inspect(Bundle(root)))
    assert result.card["verdict"] == "Inconclusive"
    assert result.card["run"] == {"namespace": "ns", "name": "t", "uid": "run-uid"}
    assert "schemaVersion 1" in result.card["summary"]
    files.write(Bundle(root), result)
    assert "PlanUnusable" in (root / "report.html").read_text()


def test_assess_without_traffic_is_inconclusive(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(sends=0, stall=None)
    rows = bundles.simulate(scenario)
    rows.tables["producer_summary"].clear()
    found = score(spark, bundles.write(tmp_path, rows, bundles.plan(scenario)))
    assert found["verdict"] == "Inconclusive"
    assert "EmptyRun" in [reason["code"] for reason in found["inconclusiveReasons"]]


def test_write_leaves_complete_outputs(clean: Path, spark: SparkSession) -> None:
    bundle = Bundle(clean)
    result = assess(spark, bundle_files.inspect(bundle))
    files.write(bundle, result)
    assert json.loads(bundle.scorecard.read_text())["verdict"] == "Passed"
    assert "<h1>Passed" in bundle.report.read_text()
    assert 'failures="0" errors="0"' in bundle.junit.read_text()
