"""Spark sessions: local for ``krt-score`` and the tests, Kubernetes for the driver Job.

Small histories are dominated by JVM start and code generation, large ones by data, so the
settings follow the size: heap, collector and tables of groups from ``jvm.LARGE_ROWS`` rows on, the
optimising compiler from ``jvm.OPTIMISED_ROWS`` on.

A *shortcut* is a way to be faster that leans on Spark's or the JVM's internals, or that is harder
to read than the plain way beside it. Both ways give the same bytes. ``KRT_PLAIN_SPARK=1`` takes the
plain way everywhere, ``KRT_PLAIN_SPARK=caching,jvm-flags`` in these: for a Spark or a JVM whose
internals have changed, and to measure a shortcut's gain (``python -m bench.scoring.shortcuts``).
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from krt_scoring.engine import jvm, kubernetes_pods, s3a, trust_store
from krt_scoring.errors import ScoringError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.stores.settings import ObjectStoreSettings
    from krt_scoring.engine.kubernetes_pods import ClusterSettings

ROWS_PER_PARTITION = 750_000
"""Rows a shuffle partition should hold: 200 MiB at most while the records are aggregated, below the
memory of a task."""

FEWER = 10
"""How many times fewer partitions a shuffle has that is not of all rows. Should one be after all,
sorting and aggregating go on on disk."""

PARTITIONS = "spark.krt.partitions"
"""The setting that says how many partitions a shuffle of all rows has."""

PLAIN = "spark.krt.plain"
"""The setting that names the shortcuts that a session does not take, joined by commas."""

PLAIN_ENV = "KRT_PLAIN_SPARK"
"""The environment variable that names them for every session; ``1`` for all of them."""


class Shortcut(StrEnum):
    """What is done in a quicker and in a plain way; docs/development/scoring.md has the gains."""

    JVM_FLAGS = "jvm-flags"
    """Compiler and collector chosen by size (``jvm``)."""
    CACHING = "caching"
    """Cached rows as a plan with a single node (``caching``)."""
    CLASS_DATA = "class-data"
    """Classes from an archive of the JVM (``class_data``), by `krt score` only."""
    OFFSET_RANKS = "offset-ranks"
    """Visible offsets as bits instead of rows (``history.offset_ranks``)."""


ALWAYS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    # What is cached is read some ten times: packing each column costs more than it saves.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # Ledgers are many small files: pack them by what they hold, not by a supposed cost to open.
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.files.minPartitionNum": "2",
    # Listing a few thousand files is quicker in the driver than as a job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # Spark's own list but for kafka: the old reader turns every record into an object and back.
    "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
    # Whether there are any rows, or few, is asked where there are mostly none: of all partitions at
    # once, not of one, then of four more, and so on.
    "spark.sql.limit.initialNumPartitions": "100000",
    # Without a limit: what is broadcast may be what is left of all records, which takes longer than
    # Spark's five minutes from 100 million on. The Job itself is limited.
    "spark.sql.broadcastTimeout": "-1",
    "spark.sql.parquet.filterPushdown": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.cleaner.referenceTracking.cleanCheckpoints": "true",
    # A scoring generates several hundred classes. Spark keeps 100, and a self-test, or the next
    # bundle of the same session, would compile nearly all of them again.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # Else PySpark tells the JVM with every call of a function which line made it, for messages of
    # failed queries: two thirds of all that it asks of the JVM.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Else every query is described in full for listeners, of which there are none, and every plan
    # looked over after each rule of the optimizer that changed it, to find bugs of the optimizer.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "1000",
    "spark.sql.lightweightPlanChangeValidation": "false",
}
"""Settings of every session. ANSI on: an overflow or a bad cast must fail, not turn to null."""

ALWAYS_LARGE = {
    # 2^18 groups, what a partition of ROWS_PER_PARTITION comes to, are kept in a table generated
    # for their key; with 2^16, Spark's own number, two of three are looked up in the general one.
    # Few rows do without the megabytes that every aggregation of every task would set aside.
    "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "18",
}
"""Settings of every session for a large history."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """How a session is sized for a number of rows."""

    rows: int
    slots: int

    @property
    def large(self) -> bool:
        """Whether the rows want room: a larger heap, larger tables of groups."""
        return self.rows >= jvm.LARGE_ROWS

    @property
    def partitions(self) -> int:
        """Partitions of a shuffle of all rows."""
        return self._rounds(ROWS_PER_PARTITION)

    @property
    def shuffle_partitions(self) -> int:
        """Partitions of any other shuffle: of groups, of anomalous records, of ends of sequences.

        Each adds a task to some forty stages, of which few have more than a handful of rows.
        """
        return self._rounds(ROWS_PER_PARTITION * FEWER)

    def _rounds(self, rows: int) -> int:
        """Return how many partitions of so many rows there are: a multiple of the slots."""
        needed = -(-self.rows // rows)
        return max(1, -(-needed // self.slots)) * self.slots

    @property
    def java_flags(self) -> str:
        """Flags of the JVMs."""
        return jvm.flags(self.rows, plain=Shortcut.JVM_FLAGS in _plain_ways())

    @property
    def local_memory(self) -> str:
        """Heap of a local session: what 10 million sends and deliveries need stays below 4 GiB."""
        return "2560m" if self.large else "1g"

    def settings(self) -> dict[str, str]:
        """Return the settings that follow from the size."""
        return {
            **ALWAYS,
            **(ALWAYS_LARGE if self.large else {}),
            "spark.sql.shuffle.partitions": str(self.shuffle_partitions),
            PARTITIONS: str(self.partitions),
            PLAIN: ",".join(sorted(_plain_ways())),
            "spark.driver.extraJavaOptions": self.java_flags,
        }


def fit(spark: SparkSession, sizing: Sizing) -> None:
    """Set what may change in a session that runs to the size of the next history."""
    spark.conf.set("spark.sql.shuffle.partitions", str(sizing.shuffle_partitions))
    spark.conf.set(PARTITIONS, str(sizing.partitions))


def partitions(spark: SparkSession) -> int:
    """Return how many partitions a shuffle of all rows has."""
    return int(str(spark.conf.get(PARTITIONS, spark.conf.get("spark.sql.shuffle.partitions"))))


def _plain_ways() -> frozenset[Shortcut]:
    """Return the shortcuts that the environment rules out.

    Raises:
        ScoringError: it names one that does not exist.
    """
    text = os.environ.get(PLAIN_ENV, "")
    if text == "1":
        return frozenset(Shortcut)
    names = [name for name in text.split(",") if name]
    known = ", ".join(Shortcut)
    for name in names:
        if name not in set(Shortcut):
            raise ScoringError(
                f"{PLAIN_ENV} names {name!r}, which is no shortcut; set it to 1 or to one or more "
                f"of {known}, joined by commas"
            )
    return frozenset(map(Shortcut, names))


def takes(spark: SparkSession, shortcut: Shortcut) -> bool:
    """Return whether a session takes a shortcut."""
    return str(shortcut) not in str(spark.conf.get(PLAIN, "")).split(",")


def rules_out(shortcut: Shortcut) -> bool:
    """Return whether the environment rules a shortcut out.

    Raises:
        ScoringError: it names one that does not exist.
    """
    return shortcut in _plain_ways()


def local(rows: int, memory: str = "1g", cores: int | None = None, flags: str = "") -> SparkSession:
    """Return a session on this machine, shuffling in a temporary directory of its own.

    Args:
        rows: rows the history holds, about.
        memory: heap of the one JVM, as Spark writes sizes.
        cores: worker threads; all cores where None.
        flags: more flags of the JVM.
    """
    slots = cores or os.cpu_count() or 1
    sizing = Sizing(rows, slots)
    settings = {
        **sizing.settings(),
        # A person waits for one line; warnings about a laptop's network are not it.
        "spark.driver.extraJavaOptions": f"{sizing.java_flags} {flags} -Dkrt.log.level=error",
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": tempfile.mkdtemp(prefix="krt-score-"),
    }
    return _start(f"local[{slots}]", settings)


def kubernetes(
    cluster: ClusterSettings, rows: int, store: ObjectStoreSettings | None = None
) -> SparkSession:
    """Return a session of this pod as driver in client mode; executors come in their own time.

    Args:
        cluster: the driver's pod and its executors.
        rows: rows the history holds, about.
        store: the object store that has the evidence; None where a volume has it.

    Raises:
        StoreReadError: the CAs that the store is trusted by cannot be used.
    """
    settings = {**kubernetes_settings(cluster, rows), **s3a.settings(store)}
    if store is not None and store.ca_file:
        trust_store.write(Path(store.ca_file), trust_store.FILE)
        settings = trust_store.trusting(settings)
    return _start("k8s://https://kubernetes.default.svc", settings)


def kubernetes_settings(cluster: ClusterSettings, rows: int) -> dict[str, str]:
    """Return every setting of a session on Kubernetes, for a history of about ``rows`` rows."""
    sizing = Sizing(rows, cluster.executors)
    return {**sizing.settings(), **kubernetes_pods.settings(cluster, sizing.java_flags)}


def _start(master: str, settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName("krt-scoring").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark: SparkSession = builder.getOrCreate()
    return spark
