"""What the rules hand over: findings as rows, and the judgement made of them.

A *finding* is one unit of one anomaly: a record, an offset, a delivery, a jump, a commit. All
anomalies share one schema, so that they are counted in one aggregation and sorted in another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import functions as sf
from pyspark.sql.types import (
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from krt_scoring.inputs.reasons import Reason

Class = Literal["Violation", "AllowedByConfig", "NotObserved"]

MAX_EXAMPLES = 32
"""Examples an anomaly shows (correctness rules): what a person reads, and 16 KiB of scorecard."""

UNITS: dict[str, str] = {
    "lost-write": "records",
    "vanished-read": "records",
    "unseen": "(record, group)",
    "duplicate-write": "records",
    "duplicate-delivery": "deliveries",
    "inconsistent-offsets": "offsets",
    "aborted-read": "records",
    "poll-skip": "jumps",
    "nonmonotonic-poll": "jumps",
    "int-poll-skip": "jumps",
    "int-nonmonotonic-poll": "jumps",
    "nonmonotonic-send": "adjacent inversions",
    "int-nonmonotonic-send": "adjacent inversions",
    "precommitted-read": "records",
    "commit-ahead": "commits",
    "commit-rewind": "commits",
    "double-ownership": "intervals",
    "unexpected-rebalance": "rebalances",
    "key-order": "adjacent inversions",
    "corrupt-payload": "records",
    "accepted-below-min-isr": "records",
    "replica-divergence": "offsets",
}
"""Anomaly → what its count counts, in the order of the documentation's table."""

FINDING = StructType(
    [
        StructField("anomaly", StringType(), nullable=False),
        StructField("rule", StringType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("producer", StringType()),
        StructField("producer_incarnation", StringType()),
        StructField("seq", LongType()),
        StructField("grp", StringType()),
        StructField("consumer", StringType()),
        StructField("incarnation", StringType()),
        StructField("event_seq", LongType()),
        StructField("tag", StringType()),
        StructField("detail", StringType()),
    ]
)
"""One row a finding. ``rule`` is the rule of the configuration that permits it, null for a
violation; ``tag`` a sub-count of the anomaly (``withinUncommittedWindow``); ``detail`` a JSON
object of integers and texts for people. What a finding is not about is null."""


@dataclass(frozen=True, slots=True)
class AnomalyResult:
    """What was found of one anomaly.

    Attributes:
        name: a key of ``UNITS``.
        unit: what ``count`` counts.
        count: findings, permitted or not.
        permitted: findings the configuration permits.
        violations: ``count - permitted``.
        cls: Violation where ``violations`` is not 0, else AllowedByConfig where ``count`` is
            not 0, else NotObserved.
        rules: rule → findings it permits.
        detail: tag → findings that carry it, and further integers.
        examples: at most ``MAX_EXAMPLES``, in order of (partition, offset, seq), each with the
            finding's columns and its mini-history.
    """

    name: str
    unit: str
    count: int
    permitted: int
    violations: int
    cls: Class
    rules: dict[str, int]
    detail: dict[str, int]
    examples: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the history proves.

    Attributes:
        ledger: the terms of the ledger identity; ``balanced`` is 1 or 0.
        anomalies: one result for every anomaly of ``UNITS``, in that order.
        reasons: what of the evidence the rules themselves found wanting
            (LedgerDoesNotBalance, ForeignRecords, GroupNeverStarted, DuplicateLogRows).
        truncations: per cut of a partition's log that the timeline explains:
            ``{"topic", "partition", "at", "epoch", "leader", "firstOffsetCut", "unclean"}``.
    """

    ledger: dict[str, int]
    anomalies: tuple[AnomalyResult, ...]
    reasons: tuple[Reason, ...]
    truncations: tuple[dict[str, int | str], ...]

    def anomaly(self, name: str) -> AnomalyResult:
        """Return the result of one anomaly.

        Raises:
            KeyError: no such anomaly.
        """
        for result in self.anomalies:
            if result.name == name:
                return result
        raise KeyError(name)


def result(
    name: str,
    rules: Mapping[str | None, int],
    detail: Mapping[str, int],
    examples: tuple[dict[str, Any], ...],
) -> AnomalyResult:
    """Return the result of one anomaly from its counts by rule (None: permitted by none)."""
    violations = rules.get(None, 0)
    permitted = {rule: rules[rule] for rule in sorted(filter(None, rules))}
    total = violations + sum(permitted.values())
    cls: Class = "Violation" if violations else "AllowedByConfig" if total else "NotObserved"
    return AnomalyResult(
        name=name,
        unit=UNITS[name],
        count=total,
        permitted=total - violations,
        violations=violations,
        cls=cls,
        rules=permitted,
        detail=dict(sorted(detail.items())),
        examples=examples,
    )


def finding(anomaly: str | Column, rows: DataFrame, **columns: Column | str) -> DataFrame:
    """Return ``rows`` as findings of ``anomaly``.

    Args:
        anomaly: a key of ``UNITS``, or a column of such.
        rows: one row a finding.
        columns: column of ``FINDING`` → a column of ``rows`` or its name; where a column is
            not given it is taken from ``rows`` by name, and is null where that has none.
    """
    name = sf.lit(anomaly) if isinstance(anomaly, str) else anomaly
    picked = [name.alias("anomaly")]
    for spec in FINDING.fields[1:]:
        value = columns.get(spec.name, spec.name if spec.name in rows.columns else sf.lit(None))
        column = sf.col(value) if isinstance(value, str) else value
        picked.append(column.cast(spec.dataType).alias(spec.name))
    return rows.select(*picked)
