"""Which duplicates in the log a configuration permits.

Without idempotence the client's own retries; with it only what makes the client bump its epoch and
number again while the record is in flight: a message.timeout.ms expiry in that incarnation, or a
sequence number that a broker refused since a request ahead of it had failed. The epoch is the
client's, not the partition's: a retry under way in any other partition gets a new number too
(docs/decisions/0011, 0017). Within transactions nothing: an expiry or a refusal there aborts the
transaction, and the client drops what it had not sent for good before its epoch is bumped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_contract.outcomes import SendOutcome
from krt_scoring.engine import local_rows
from krt_scoring.history.identity import key
from krt_scoring.history.record_columns import (
    LOG_ABORTED,
    LOG_COMMITTED,
    LOG_OPEN,
    has,
)
from krt_scoring.inputs.client_settings import producer_settings
from krt_scoring.inputs.member_logs.refused_sequences import EVENT, SOURCE
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.history.history import History

RETRIES = "retries-without-idempotence"
EXPIRY = "message-timeout-expiry"
REFUSAL = "skipped-sequence"

EXPIRY_ERROR = "_MSG_TIMED_OUT"
"""librdkafka's name of a message that outlived message.timeout.ms, as ledgers hold it."""


def write_rule(history: History, rows: DataFrame) -> DataFrame:
    """Return suspects with the column ``rule``: what permits their duplicate, or null."""
    joined = _with_refusals(history, _with_expiries(history, rows))
    retried = ~sf.col("idempotent") & sf.col("retries")
    outside = sf.col("transaction").isNull() & ~has(LOG_COMMITTED | LOG_ABORTED | LOG_OPEN)
    alone = sf.col("idempotent") & outside
    rule = (
        sf.when(retried, RETRIES)
        .when(alone & sf.col("expired"), EXPIRY)
        .when(alone & sf.col("refused"), REFUSAL)
    )
    return joined.withColumn("rule", rule)


def _with_expiries(history: History, rows: DataFrame) -> DataFrame:
    """Return rows with ``expired``: another message of theirs expired while they were in flight.

    The client reports expiries and acknowledgements in one order. What was acknowledged before an
    expiry was reported was not sent again for it; what is sent later has the new number at once.
    """
    suspects = rows.select(
        "pk",
        "seq",
        sf.coalesce("sent_at", sf.lit(0)).alias("_from"),
        # Of a send whose end no ledger has: it may have been in flight to the last.
        sf.coalesce("done_at", sf.lit(FOREVER)).alias("_to"),
    )
    expiries = history.tables.produce.filter(
        (sf.col("outcome") == SendOutcome.UNKNOWN.value) & sf.col("error").contains(EXPIRY_ERROR)
    ).select(key().alias("_pk"), sf.col("seq").alias("_seq"), sf.col("done_at").alias("_at"))
    meanwhile = (sf.col("_from") <= sf.col("_at")) & (sf.col("_at") <= sf.col("_to"))
    other = (sf.col("pk") == sf.col("_pk")) & (sf.col("seq") != sf.col("_seq"))
    found = expiries.join(history.records.few(suspects), other & meanwhile).select("pk", "seq")
    marked = found.distinct().withColumn("expired", sf.lit(col=True))
    return rows.join(history.records.few(marked), ["pk", "seq"], "left")


def _with_refusals(history: History, rows: DataFrame) -> DataFrame:
    """Return rows with ``refused``: a sequence number was, elsewhere, while they were in flight."""
    found = _refusals(history)
    if not found:
        return rows.withColumn("refused", sf.lit(col=False))
    others = local_rows.frame(history.spark, found, "_pk long, _tp long, _at long")
    meanwhile = sf.coalesce(
        # Of a send that no ledger has: it may have been in flight at any time.
        (sf.col("sent_at") <= sf.col("_at")) & (sf.col("_at") <= sf.col("done_at")),
        sf.lit(col=True),
    )
    same = (sf.col("pk") == sf.col("_pk")) & (sf.col("tp") != sf.col("_tp"))
    refused = rows.join(sf.broadcast(others), same & meanwhile, "left_semi").select("pk", "seq")
    marked = refused.distinct().withColumn("refused", sf.lit(col=True))
    return rows.join(sf.broadcast(marked), ["pk", "seq"], "left")


def _refusals(history: History) -> list[tuple[int, int, int]]:
    """Return (incarnation, topic-partition id, UTC µs) of each refusal that may have been its.

    A broker names a producer by an id that no ledger holds, so it may be that of every incarnation
    which had more than one request in flight to the topic.
    """
    run, positions = history.facts.run, history.facts.positions
    senders: dict[str, list[int]] = {}
    for item in history.facts.incarnations.values():
        info = run.writer(item.producer)
        if info and producer_settings(run, item.producer).in_flight > 1:
            senders.setdefault(info.topic, []).append(item.key)
    found = set()
    for event in history.tables.timeline:
        if (event.source, event.event) == (SOURCE, EVENT):
            topic, _, partition = event.subject.rpartition("-")
            for sender in senders.get(topic, ()):
                found.add((sender, positions.tp(topic, int(partition)), event.at))
    return sorted(found)
