"""Every corruption of a correct history is found exactly, over many seeds and histories."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.spark.job import bundles
from tests.spark.selftest import histories
from tests.spark.selftest.histories import Simulation

from krt_contract.bundle import Bundle
from krt_scoring import selftest
from krt_scoring.anomalies import context, detection
from krt_scoring.anomalies.registry import RULES, UNITS
from krt_scoring.history import tables
from krt_scoring.inputs import run_info
from krt_scoring.selftest.corruptions import KINDS
from krt_scoring.selftest.evaluate import Detected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from krt_scoring.anomalies.context import Context

pytestmark = pytest.mark.usefixtures("interpreting")

SENDS = 1_500
EACH = 3
"""Corruptions of a kind in one copy: a rescoring costs the same however many it holds."""

SEEDS = (1, 2)
WANTED = 200
"""Corruptions that must be found before a change is taken (the gate's own size)."""


@contextmanager
def scored(
    spark: SparkSession, root: Path, seed: int, partitions: int
) -> Iterator[tuple[Context, Detected]]:
    rows = Simulation(seed, SENDS, partitions).run()
    path = bundles.write(root, rows, histories.plan(partitions))
    past = tables.read(spark, path, run_info.load(Bundle(path).run_json))
    ctx = context.build(past)
    findings = detection.find_all(ctx)
    findings = findings.persist() if findings is not None else None
    detected = detection.count_findings(ctx, findings)
    yield ctx, Detected(findings, detected.ledger, detected.reasons)
    ctx.release()


def test_corruptions_cover_every_anomaly() -> None:
    assert {name for kind in KINDS for name in kind.anomalies} == set(UNITS)


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.long), 4])
def test_records_of_a_correct_history_are_all_detected(
    spark: SparkSession, tmp_path: Path, partitions: int
) -> None:
    count = 0
    with scored(spark, tmp_path, partitions, partitions) as (ctx, detected):
        assert detected.ledger["balanced"]
        for seed in SEEDS:
            results, lacking = selftest.records(ctx, detected, seed, EACH)
            assert [item.as_dict() for item in results if not item.detected] == []
            hosts = {item.name for item in results} | set(lacking)
            assert hosts == {kind.name for kind in KINDS}
            assert set(lacking) <= ({"wrong-partition"} if partitions == 1 else set())
            count += len(results)
    assert count >= WANTED // 2


def test_records_without_a_rule_miss_its_corruption(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scored(spark, tmp_path, 5, 2) as (ctx, detected):
        broken = tuple(rule for rule in RULES if "vanished-read" not in rule.units)
        monkeypatch.setattr(detection, "RULES", broken)
        results, _ = selftest.records(ctx, detected, 5)
    score = selftest.SelfTestResult(tuple(results), {})
    assert [item.name for item in results if not item.detected] == ["lost-record-read"]
    assert (score.detected, score.total) == (len(results) - 1, len(results))
    reason = score.reason()
    assert reason is not None
    assert (reason.kind, reason.code) == ("coverage", "DetectorFailed")
    assert "lost-record-read" in reason.message
