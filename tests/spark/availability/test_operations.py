"""When a write was done, by what its ledger says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.anomalies.histories import history_of_cases
from tests.spark.anomalies.language import SECOND, Case

from krt_scoring.anomalies import context
from krt_scoring.metrics import operations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """
producer p transactional=true
send p/1#0 0@0 acked at=1 done=2 txn=0:committed
send p/1#1 0@2 failed at=3 done=4 txn=1:aborted
send p/1#2 0 failed at=5 done=6 txn=1:aborted error=_PURGE_INFLIGHT
send p/1#3 0 unknown at=7 done=8 txn=2:unknown
send p/1#4 0 failed at=9 done=10 error=MSG_SIZE_TOO_LARGE
log 0@0 p/1#0 state=committed
log 0@2 p/1#1 state=aborted
"""


def test_operations_of_an_aborted_send_count_its_ack(spark: SparkSession) -> None:
    ctx = context.build(history_of_cases(spark, [Case("t").parse(TEXT)]))
    try:
        rows = operations.operations(ctx.history).where(f"lane = {operations.WRITES}").collect()
    finally:
        ctx.release()
    done = {row["due"] // SECOND: row["done"] and row["done"] // SECOND for row in rows}
    assert done == {1: 2, 3: 4, 5: None, 7: None, 9: None}
