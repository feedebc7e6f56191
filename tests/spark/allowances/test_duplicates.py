"""What permits duplicates in a run of which no broker refused a sequence number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.anomalies.histories import detect_side_by_side
from tests.spark.anomalies.language import Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TWICE = """
send p/1#0 0@1 acked at=1 done=5
log 0@0 p/1#0
log 0@1 p/1#0
"""
"""Beside other histories there is always one with a refusal."""


def test_write_rule_permits_nothing_where_no_sequence_was_refused(spark: SparkSession) -> None:
    found = detect_side_by_side(spark, [Case("topic").parse(TWICE)])
    assert found["topic"].findings == {("duplicate-write", None): 1}
