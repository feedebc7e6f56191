"""Spark and the driver choose the same examples, and count the same."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from krt_scoring.anomalies import detection, examples
from krt_scoring.anomalies.results import MAX_EXAMPLES
from krt_scoring.anomalies.schema import FINDING
from krt_scoring.engine import local_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("interpreting")

VALUES: dict[str, tuple[Any, ...]] = {
    "anomaly": ("lost-write", "duplicate-write", "unseen"),
    "rule": (None, "acks-1"),
    "topic": (None, "bar", "foo", "ä"),
    "partition": (None, 0, 1),
    "offset": (None, 7, 12),
    "producer": (None, "p-0", "p-1"),
    "producer_incarnation": (None, "u"),
    "seq": (None, 3, 20),
    "grp": (None, "g"),
    "consumer": (None, "c-0"),
    "incarnation": (None, "v"),
    "event_seq": (None, 1),
    "tag": (None, "withinUncommittedWindow"),
    "detail": (None, '{"lacking": [1]}'),
}
"""Column of a finding → what it may hold."""


@pytest.fixture(scope="module")
def findings(spark: SparkSession) -> DataFrame:
    draw = random.Random(1)  # noqa: S311 (a test, not a secret)
    rows = [tuple(draw.choice(VALUES[name]) for name in FINDING.names) for _ in range(400)]
    assert len(rows) > len(VALUES["anomaly"]) * MAX_EXAMPLES
    return local_rows.frame(spark, rows, FINDING)


def test_driver_chooses_what_spark_chooses(findings: DataFrame) -> None:
    rows = [row.asDict() for row in findings.collect()]
    chosen = examples.choose_from(rows)
    assert chosen == examples.choose(findings)
    assert {len(items) for items in chosen.values()} == {MAX_EXAMPLES}


def test_many_findings_are_counted_as_few_are(
    findings: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = detection.count_kinds(findings)
    monkeypatch.setattr(detection, "FEW", 399)
    assert detection.count_kinds(findings) == few
    assert few[0].total() == 400
