"""A generated history of a correct Kafka, written by Spark: every value is a formula of its number.

Four producers send round robin to six partitions, 20 000 records a second; two consumers of one
group read three partitions each; the leader of partition 0 is gone for 6 s in the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from krt_evidence.bundle import Bundle, write_json
from krt_evidence.timeline import Event, TimelineWriter
from krt_scoring import session
from krt_scoring.history import SCHEMAS

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

BUNDLE = "bench/history/00000000-0000-4000-8000-000000000000"
RUN_UID = BUNDLE.rsplit("/", 1)[1]
T0 = 1_800_000_000_000_000
"""Start of the run, UTC µs."""

PRODUCERS, PARTITIONS, CONSUMERS = 4, 6, 2
OWNED = PARTITIONS // CONSUMERS
BLOCK = PRODUCERS * PARTITIONS
STEP = 50
"""µs between sends."""

OUTAGE = 6_000_000
ACK, HANDED = 4_000, 2_000
POLL = 500
COMMIT_EVERY = 12_000
"""Deliveries of a consumer between commits; a multiple of what it gets of a block."""

ROWS_PER_FILE = 500_000


def generate(root: Path, sends: int) -> None:
    """Write a bundle of ``sends`` sends and as many deliveries below ``root``."""
    sends -= sends % BLOCK
    bundle = Bundle(root / BUNDLE)
    write_json(bundle.run_json, plan())
    spark = session.local(sends, "2g")
    try:
        rows = _numbered(spark, sends)
        _write(bundle, "produce", _produce(rows), sends)
        _write(bundle, "log", _log(rows), sends)
        _write(bundle, "consume", _consume(rows), sends)
        _write(bundle, "consumer_events", _events(spark, sends), 1)
        _write(bundle, "produce_close", _closes(spark, sends), 1)
        _write(bundle, "log_bounds", _bounds(spark, sends), 1)
    finally:
        spark.stop()
    _timeline(bundle, sends)


def plan() -> dict[str, Any]:
    """Return the run's plan."""
    producer = {"name": "p", "topic": "foo", "replicas": PRODUCERS, "acks": "all"}
    consumer = {"name": "c", "topics": ["foo"], "group": "g", "replicas": CONSUMERS}
    topic = {"name": "foo", "partitions": PARTITIONS, "replicationFactor": 3}
    return {
        "schemaVersion": 1,
        "run": {"namespace": "bench", "name": "history", "uid": RUN_UID, "seed": 1},
        "spec": {
            "traffic": {
                "producers": [{**producer, "enableIdempotence": True}],
                "consumers": [{**consumer, "isolation": "read_committed"}],
            },
            "faults": [{"name": "leader-down"}],
        },
        "topics": [topic],
        "brokerConfig": {"min.insync.replicas": "2"},
    }


def _uid(kind: str, number: Column) -> Column:
    return sf.format_string(f"{kind}0000000-0000-4000-8000-%012d", number)


def _outage(sends: int) -> tuple[int, int]:
    begin = T0 + sends * STEP // 2
    return begin, begin + OUTAGE


def _numbered(spark: SparkSession, sends: int) -> DataFrame:
    number = sf.col("id")
    begin, end = _outage(sends)
    scheduled = number * STEP + T0
    latency = sf.pmod(sf.xxhash64(number), sf.lit(2_000)) + ACK
    held = (sf.col("partition") == 0) & scheduled.between(begin - ACK, end)
    return (
        spark.range(sends)
        .withColumn("p", (number % PRODUCERS).cast("int"))
        .withColumn("partition", (sf.expr(f"id div {PRODUCERS}") % PARTITIONS).cast("int"))
        .withColumn("block", sf.expr(f"id div {BLOCK}"))
        .withColumn("offset", sf.col("block") * PRODUCERS + sf.col("p"))
        .withColumn("seq", sf.expr(f"id div {PRODUCERS}"))
        .withColumn("scheduled_at", scheduled)
        .withColumn("done_at", sf.when(held, sf.lit(end)).otherwise(scheduled) + latency)
        .withColumn("producer", sf.concat(sf.lit("p-"), sf.col("p")))
        .withColumn("producer_incarnation", _uid("a", sf.col("p")))
        .withColumn("key", sf.concat(sf.lit("k"), sf.col("partition")))
    )


def _produce(rows: DataFrame) -> DataFrame:
    return (
        rows.withColumn("topic", sf.lit("foo"))
        .withColumn("sent_at", sf.col("scheduled_at") + 100)
        .withColumn("sent_mono", sf.col("scheduled_at") + 100 - T0)
        .withColumn("done_mono", sf.col("done_at") - T0)
        .withColumn("outcome", sf.lit("acked"))
        .withColumns(dict.fromkeys(("error", "transaction_outcome"), sf.lit(None).cast("string")))
        .withColumn("transaction", sf.lit(None).cast("long"))
    )


def _log(rows: DataFrame) -> DataFrame:
    return (
        rows.withColumn("topic", sf.lit("foo"))
        .withColumn("run_uid", sf.lit(RUN_UID))
        .withColumn("checksum_ok", sf.lit(col=True))
        .withColumn("size", sf.lit(200))
        .withColumn("timestamp", sf.col("scheduled_at"))
        .withColumn("state", sf.lit("plain"))
    )


def _order(rows: DataFrame) -> DataFrame:
    """Number the deliveries of each consumer; even numbers, odd ones are its events."""
    consumer = sf.expr(f"partition div {OWNED}")
    place = (sf.col("partition") % OWNED) * PRODUCERS + sf.col("p")
    return rows.withColumn("c", consumer).withColumn(
        "order", sf.col("block") * (OWNED * PRODUCERS) + place
    )


def _consume(rows: DataFrame) -> DataFrame:
    return (
        _order(rows)
        .withColumn("consumer", sf.concat(sf.lit("c-"), sf.col("c")))
        .withColumn("incarnation", _uid("c", sf.col("c")))
        .withColumn("group", sf.lit("g"))
        .withColumn("n", sf.col("order") * 2 + 10)
        .withColumn("poll", sf.expr(f"order div {POLL}"))
        .withColumn("pos_in_poll", sf.col("order") % POLL)
        .withColumn("topic", sf.lit("foo"))
        .withColumn("run_uid", sf.lit(RUN_UID))
        .withColumn("checksum_ok", sf.lit(col=True))
        .withColumn("handed_at", sf.col("done_at") + HANDED)
        .withColumn("handed_mono", sf.col("done_at") + HANDED - T0)
        .withColumn("processed_at", sf.col("done_at") + HANDED)
        .withColumn("outcome", sf.lit("ok"))
    )


def _events(spark: SparkSession, sends: int) -> DataFrame:
    """Each consumer is assigned its partitions at 0, commits as it goes and drains."""
    each = sends // CONSUMERS
    rows: list[tuple[Any, ...]] = []
    for partition in range(PARTITIONS):
        consumer, place = divmod(partition, OWNED)
        rows.append((consumer, 2 * place + 1, T0, "assigned", partition, 0))
        marks = [*range(COMMIT_EVERY, each, COMMIT_EVERY), each]
        for order in marks:
            offset = order // OWNED
            # Behind the last delivery it covers, each partition's commit at a number of its own.
            at = T0 + order * CONSUMERS * STEP + OUTAGE + ACK + HANDED
            rows.append((consumer, 2 * order + 11 + 2 * place, at, "committed", partition, offset))
        end = T0 + sends * STEP + 2 * OUTAGE
        rows.append(
            (consumer, 2 * each + 101 + 2 * place, end, "drained", partition, each // OWNED)
        )
    frame = spark.createDataFrame(
        rows, "c int, n long, at long, event string, partition int, offset long"
    )
    return (
        frame.withColumn("consumer", sf.concat(sf.lit("c-"), sf.col("c")))
        .withColumn("incarnation", _uid("c", sf.col("c")))
        .withColumn("group", sf.lit("g"))
        .withColumn("poll", sf.lit(None).cast("long"))
        .withColumn("mono", sf.col("at") - T0)
        .withColumn("topic", sf.lit("foo"))
        .withColumn("generation", sf.lit(1))
        .withColumn("member_id", sf.col("consumer"))
        .withColumn("detail", sf.lit(None).cast("string"))
    )


def _closes(spark: SparkSession, sends: int) -> DataFrame:
    count = sf.lit(sends // PRODUCERS)
    return (
        spark.range(PRODUCERS)
        .withColumn("producer", sf.concat(sf.lit("p-"), sf.col("id")))
        .withColumn("producer_incarnation", _uid("a", sf.col("id")))
        .withColumn("attempted", count)
        .withColumn("acked", count)
        .withColumns({"failed": sf.lit(0), "unknown": sf.lit(0)})
        .withColumn("at", sf.lit(T0 + sends * STEP + 2 * OUTAGE))
    )


def _bounds(spark: SparkSession, sends: int) -> DataFrame:
    end = sf.lit(sends // PARTITIONS)
    frame = spark.range(PARTITIONS).withColumn("topic", sf.lit("foo"))
    zeros = dict.fromkeys(("log_start", "read_from", "leader_epoch", "leader"), sf.lit(0))
    ends = dict.fromkeys(("high_watermark", "last_stable", "read_to", "rows_read"), end)
    return (
        frame.withColumn("partition", sf.col("id"))
        .withColumn("taken_at", sf.lit(T0 + sends * STEP + 2 * OUTAGE))
        .withColumns(zeros | ends)
        .withColumn("isr", sf.array(*[sf.lit(broker) for broker in range(3)]))
        .withColumn("settled", sf.lit(col=True))
    )


def _write(bundle: Bundle, table: str, rows: DataFrame, count: int) -> None:
    schema = SCHEMAS[table]
    columns = [sf.col(field.name).cast(field.dataType).alias(field.name) for field in schema]
    files = max(1, count // ROWS_PER_FILE)
    rows.select(*columns).coalesce(files).write.option("compression", "zstd").parquet(
        str(bundle.table(table))
    )


def _timeline(bundle: Bundle, sends: int) -> None:
    begin, end = _outage(sends)
    last = T0 + sends * STEP + 3 * OUTAGE
    targets = [{"pod": "kafka-0-0", "uid": "k", "member": "kafka-0", "role": "PartitionLeader"}]
    events = [
        Event(T0, 0, "recorder", "started", "recorder"),
        Event(
            begin, 1, "fault", "injected", "leader-down", {"action": "CrashPod", "targets": targets}
        ),
        Event(begin, 1, "fault", "effect", "leader-down", {"proven": True, "proofs": []}),
        Event(end, 2, "fault", "healed", "leader-down"),
        Event(end + OUTAGE // 2, 3, "fault", "recovered", "leader-down"),
        Event(last, 4, "recorder", "stopped", "recorder"),
    ]
    writer = TimelineWriter(bundle.timeline, "events")
    for event in sorted(events, key=lambda item: item.at):
        writer.write(event)
    writer.close()
