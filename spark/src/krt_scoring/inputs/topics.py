"""What the brokers hold: the topics read once, between settled bounds, into the bundle.

The bounds come from the controller (taken when producers had stopped and the log was settled), so
that every attempt reads the same records; "latest" would move. Where producers write in
transactions the topics are read a second time as committed, to see what was aborted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql import functions as sf

from krt_contract.cluster_security import security_of
from krt_contract.kafka_security import mounted_folder
from krt_contract.outcomes import LogState
from krt_contract.schemas import LOG, LOG_END_OFFSETS
from krt_scoring.engine import payload
from krt_scoring.engine.session import partitions
from krt_scoring.errors import TopicReadError
from krt_scoring.inputs import topic_client
from krt_scoring.inputs.bundle_files import count_by_partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from krt_contract.plan import Plan
    from krt_scoring.inputs.log_places import LogPlace

POLL_TIMEOUT_MS = 30_000
"""Longest wait for a broker's answer; the connector's 120 s would outlast the phase."""

FETCHING = {
    "kafka.max.poll.records": "100000",
    "kafka.max.partition.fetch.bytes": str(4 * 1024 * 1024),
    "kafka.fetch.max.wait.ms": "10",
    "kafka.enable.metrics.push": "false",
}
"""How the connector's consumers fetch.

After each poll the connector asks for the ends of the log and seeks back, for which the consumer
throws away all it had fetched beyond the poll. With Kafka's own 500 records a poll and 1 MiB a
fetch nearly every byte would be fetched some ten times. So a poll hands out all of a fetch, whose
bytes bound the memory it takes. What is asked for is settled: a fetch need not wait for more.
Nobody collects the clients' own metrics, and to offer them takes loading a library.
"""

LAYOUT = {
    "compression": "zstd",
    "parquet.writer.version": "v2",
    **{f"parquet.enable.dictionary#{name}": "false" for name in ("offset", "seq", "timestamp")},
}
"""How the table is laid out in its files: as ledgers are (``krt_contract.ledger.layout``), numbers
that grow by the steps they grow by, which only the second version of the writer does."""

FEW_RECORDS = 500_000
"""Up to so many records the driver reads and writes itself, in some 2.5 s and 100 MB, while its JVM
starts."""

NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class PartitionBound:
    """Bounds of one partition, as the controller wrote them; times UTC µs."""

    topic: str
    partition: int
    taken_at: int
    log_start: int
    high_watermark: int
    last_stable: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    settled: bool

    @property
    def readable(self) -> bool:
        """Whether there is a leader to read from."""
        return self.leader != NO_LEADER and self.high_watermark >= self.log_start

    def end(self, *, committed: bool) -> int:
        """Return up to where a reader gets: a committed one to the first transaction left open."""
        if not committed:
            return self.high_watermark
        return max(self.log_start, min(self.last_stable, self.high_watermark))


def parse_bounds(text: str) -> list[PartitionBound]:
    """Return the bounds of the control ConfigMap, in order of topic and partition.

    Raises:
        TopicReadError: the text is no list of bounds.
    """
    try:
        found = json.loads(text)
        if not isinstance(found, list):
            raise TypeError("not a list")  # noqa: TRY301 (the message is made in one place)
        rows = [_bound(item) for item in found]
    except (ValueError, KeyError, TypeError) as error:
        raise TopicReadError(f"control ConfigMap, key bounds: not usable ({error})") from error
    return sorted(rows, key=lambda row: (row.topic, row.partition))


def _bound(item: Mapping[str, Any]) -> PartitionBound:
    return PartitionBound(
        topic=str(item["topic"]),
        partition=int(item["partition"]),
        taken_at=int(item["takenAt"]),
        log_start=int(item["logStart"]),
        high_watermark=int(item["highWatermark"]),
        last_stable=int(item["lastStable"]),
        leader=int(item["leader"]),
        leader_epoch=int(item["leaderEpoch"]),
        isr=tuple(int(broker) for broker in item["isr"]),
        settled=bool(item["settled"]),
    )


def read_few(run: Plan, bounds: Sequence[PartitionBound], place: LogPlace) -> bool:
    """Do what ``read`` does without Spark, if the records are few; nothing otherwise.

    Returns:
        Whether the topics are read now.

    Raises:
        TopicReadError: the topics could not be read between their bounds.
        OSError: the evidence does not take the records.
    """
    readable = [bound for bound in bounds if bound.readable]
    # Markers of transactions, which are no records, count as well.
    offsets = sum(bound.high_watermark - bound.log_start for bound in readable)
    if place.complete():
        return True
    if offsets > FEW_RECORDS:
        return False
    counts: Mapping[tuple[str, int], int] = {}
    if offsets:
        found = topic_client.read(run, readable)
        place.begin()
        writer = place.records()
        writer.write_open(found)
        writer.roll()
        place.publish()
        counts = count_by_partition(found)
    _write_bounds(bounds, counts, place)
    return True


def read(spark: SparkSession, run: Plan, bounds: Sequence[PartitionBound], place: LogPlace) -> None:
    """Write ``log/`` and then ``log_end_offsets/``; where the latter is there, both are complete.

    Raises:
        TopicReadError: the topics could not be read between their bounds.
    """
    if place.complete():
        return
    readable = [bound for bound in bounds if bound.readable]
    counts: dict[tuple[str, int], int] = {}
    if any(bound.high_watermark > bound.log_start for bound in readable):
        counts = _store(records(spark, run, readable), readable, place)
    _write_bounds(bounds, counts, place)


def records(spark: SparkSession, run: Plan, bounds: Sequence[PartitionBound]) -> DataFrame:
    """Return the topics' records with the columns of ``log/``."""
    rows = payload.parse(_source(spark, run, bounds, committed=False))
    rows = rows.withColumn("state", sf.lit(LogState.PLAIN))
    if run.transactional:
        committed = _source(spark, run, bounds, committed=True).select(
            "topic", "partition", "offset", sf.lit(1).alias("seen")
        )
        rows = rows.join(committed, ["topic", "partition", "offset"], "left")
        rows = rows.withColumn("state", _state(run, bounds))
    return rows.select(
        "topic",
        "partition",
        "offset",
        sf.make_valid_utf8(sf.col("key").cast("string")).alias("key"),
        "run_uid",
        "producer",
        "producer_incarnation",
        "seq",
        "checksum_ok",
        sf.coalesce(sf.length("value"), sf.lit(0)).alias("size"),
        sf.unix_micros("timestamp").alias("timestamp"),
        "state",
    ).select(*LOG.names)


def _state(run: Plan, bounds: Sequence[PartitionBound]) -> Column:
    identities = sorted(run.transactional_identities)
    still_open = sf.lit(False)  # noqa: FBT003 (a literal of Spark, not a flag)
    for bound in bounds:
        if bound.last_stable < bound.high_watermark:
            here = (sf.col("topic") == bound.topic) & (sf.col("partition") == bound.partition)
            still_open |= here & (sf.col("offset") >= bound.last_stable)
    return (
        sf.when(~sf.coalesce(sf.col("producer").isin(identities), sf.lit(False)), LogState.PLAIN)  # noqa: FBT003 (as above)
        .when(sf.col("seen").isNotNull(), LogState.COMMITTED)
        .when(still_open, LogState.OPEN)
        .otherwise(LogState.ABORTED)
    )


def _source(
    spark: SparkSession, run: Plan, bounds: Sequence[PartitionBound], *, committed: bool
) -> DataFrame:
    assigned: dict[str, list[int]] = {}
    starting: dict[str, dict[str, int]] = {}
    ending: dict[str, dict[str, int]] = {}
    for bound in bounds:
        assigned.setdefault(bound.topic, []).append(bound.partition)
        starting.setdefault(bound.topic, {})[str(bound.partition)] = bound.log_start
        ending.setdefault(bound.topic, {})[str(bound.partition)] = bound.end(committed=committed)
    return (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", run.bootstrap)
        .option("kafka.isolation.level", "read_committed" if committed else "read_uncommitted")
        .option("assign", json.dumps(assigned))
        .option("startingOffsets", json.dumps(starting))
        .option("endingOffsets", json.dumps(ending))
        # A log that no longer holds what was bounded must fail, not shrink the evidence.
        .option("failOnDataLoss", "true")
        .option("kafkaConsumer.pollTimeoutMs", str(POLL_TIMEOUT_MS))
        .options(**FETCHING)
        .options(**_login(run))
        # One large partition must not be one task's work.
        .option("minPartitions", partitions(spark))
        .load()
    )


def _login(run: Plan) -> dict[str, str]:
    """Return the options that say how a secured cluster is logged in to; none has a secret in it.

    Driver and executors mount the same files.
    """
    settings = security_of(run).java_settings(mounted_folder())
    return {f"kafka.{name}": value for name, value in settings.items()}


def _store(
    rows: DataFrame, bounds: Sequence[PartitionBound], place: LogPlace
) -> dict[tuple[str, int], int]:
    """Write the records by the executors, and make them those of the bundle when complete.

    Returns:
        Partition → its records.
    """
    target = place.begin()
    observation = Observation()
    counts = [
        sf.count_if((sf.col("topic") == bound.topic) & (sf.col("partition") == bound.partition))
        for bound in bounds
    ]
    named = [column.alias(f"c{index}") for index, column in enumerate(counts)]
    rows.observe(observation, *named).write.options(**LAYOUT).parquet(target)
    place.publish()
    found = observation.get
    return {
        (bound.topic, bound.partition): int(found[f"c{index}"])
        for index, bound in enumerate(bounds)
    }


def _write_bounds(
    bounds: Sequence[PartitionBound], counts: Mapping[tuple[str, int], int], place: LogPlace
) -> None:
    rows = [
        {
            "topic": bound.topic,
            "partition": bound.partition,
            "taken_at": bound.taken_at,
            "log_start": bound.log_start,
            "high_watermark": bound.high_watermark,
            "last_stable": bound.last_stable,
            "leader": bound.leader,
            "leader_epoch": bound.leader_epoch,
            "isr": list(bound.isr),
            "settled": bound.settled,
            "read_from": bound.log_start,
            "read_to": bound.high_watermark if bound.readable else bound.log_start,
            "rows_read": counts.get((bound.topic, bound.partition), 0),
        }
        for bound in bounds
    ]
    place.ends().write({name: [row[name] for row in rows] for name in LOG_END_OFFSETS.names})
