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
from krt_scoring.anomalies import context, judgement
from krt_scoring.anomalies.findings import UNITS
from krt_scoring.history import tables
from krt_scoring.inputs import run_info
from krt_scoring.selftest.corruptions import KINDS
from krt_scoring.selftest.evaluate import Judged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from krt_scoring.anomalies.context import Context

SENDS = 1_500
EACH = 3
"""Corruptions of a kind in one copy: a rescoring costs the same however many it holds."""

SEEDS = (1, 2)
WANTED = 200
"""Corruptions that must be found before a change is taken (the gate's own size)."""


@contextmanager
def scored(
    spark: SparkSession, root: Path, seed: int, partitions: int
) -> Iterator[tuple[Context, Judged]]:
    rows = Simulation(seed, SENDS, partitions).run()
    path = bundles.write(root, rows, histories.plan(partitions))
    past = tables.read(spark, path, run_info.load(Bundle(path).run_json))
    ctx = context.build(past)
    found = judgement.findings(ctx)
    found = found.persist() if found is not None else None
    judged = judgement.judge_found(ctx, found)
    yield ctx, Judged(found, judged.ledger, judged.reasons)
    ctx.release()


def test_every_anomaly_has_a_corruption() -> None:
    assert {name for kind in KINDS for name in kind.shows} == set(UNITS)


@pytest.mark.parametrize("partitions", [1, 4])
def test_each_is_found_exactly(spark: SparkSession, tmp_path: Path, partitions: int) -> None:
    count = 0
    with scored(spark, tmp_path, partitions, partitions) as (ctx, judged):
        assert judged.ledger["balanced"]
        for seed in SEEDS:
            told, lacking = selftest.records(ctx, judged, seed, EACH)
            assert [item.as_dict() for item in told if not item.found] == []
            hosts = {item.name for item in told} | set(lacking)
            assert hosts == {kind.name for kind in KINDS}
            assert set(lacking) <= ({"wrong-partition"} if partitions == 1 else set())
            count += len(told)
    assert count >= WANTED // 2


def test_a_rule_that_does_not_work_is_noticed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scored(spark, tmp_path, 5, 2) as (ctx, judged):
        broken = tuple(rule for rule in judgement.RULES if "vanished" not in rule[0].__module__)
        monkeypatch.setattr(judgement, "RULES", broken)
        told, _ = selftest.records(ctx, judged, 5)
    score = selftest.DetectorScore(tuple(told), {})
    assert [item.name for item in told if not item.found] == ["lost-record-read"]
    assert (score.found, score.applicable) == (len(told) - 1, len(told))
    reason = score.reason()
    assert reason is not None
    assert (reason.kind, reason.code) == ("coverage", "DetectorFailed")
    assert "lost-record-read" in reason.message
