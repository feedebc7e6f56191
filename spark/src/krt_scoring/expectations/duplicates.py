"""Which duplicates in the log a configuration permits.

Without idempotence the client's own retries; with it only a message.timeout.ms expiry in that
incarnation, after which the client bumps its epoch and numbers anew. The epoch is the client's,
not the partition's: a retry under way in any other partition gets a new number too
(docs/decisions/0011). Within transactions nothing: an expiry there aborts the transaction, and
the client drops what it had not sent for good before its epoch is bumped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.derive.records import LOG_ABORTED, LOG_COMMITTED, LOG_OPEN, has

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.derive.base import Base

RETRIES = "retries-without-idempotence"
EXPIRY = "message-timeout-expiry"

EXPIRY_ERROR = "_MSG_TIMED_OUT"
"""librdkafka's name of a message that outlived message.timeout.ms, as ledgers hold it."""


def write_rule(base: Base, rows: DataFrame) -> DataFrame:
    """Return suspects with the column ``rule``: what permits their duplicate, or null."""
    expired = (
        base.history.produce.filter(
            (sf.col("outcome") == "unknown") & sf.col("error").contains(EXPIRY_ERROR)
        )
        .select(sf.xxhash64("producer", "producer_incarnation").alias("pk"))
        .distinct()
        .withColumn("expired", sf.lit(col=True))
    )
    joined = rows.join(sf.broadcast(expired), "pk", "left")
    retried = ~sf.col("idempotent") & sf.col("retries")
    outside = sf.col("transaction").isNull() & ~has(LOG_COMMITTED | LOG_ABORTED | LOG_OPEN)
    after = sf.col("idempotent") & outside & sf.coalesce(sf.col("expired"), sf.lit(col=False))
    return joined.withColumn("rule", sf.when(retried, RETRIES).when(after, EXPIRY))
