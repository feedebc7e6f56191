"""Which findings of an anomaly are shown, and how: the same ones by Spark and by the driver."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_scoring.anomalies.results import MAX_EXAMPLES
from krt_scoring.anomalies.schema import FINDING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import Column, DataFrame

    Examples = dict[str, list[dict[str, Any]]]

ORDER = (
    *("topic", "partition", "offset", "seq", "producer", "producer_incarnation", "grp"),
    *("consumer", "incarnation", "event_seq", "tag", "rule", "detail"),
)
"""Order of examples, absent values first: a total one, so that the same findings are shown every
time."""


def choose(findings: DataFrame, void: Column | None = None) -> Examples:
    """Return anomaly → its examples: violations that stand, then void ones, then what is permitted.

    Args:
        findings: the findings of any rules.
        void: whether a finding rests on missing evidence; None: none does.
    """
    order = [sf.col(name).asc_nulls_first() for name in ORDER]
    marked = findings.withColumn("void", sf.lit(col=False) if void is None else void)
    window = Window.partitionBy("anomaly").orderBy(sf.col("rule").isNotNull(), "void", *order)
    shown = (
        marked.withColumn("rank", sf.row_number().over(window))
        .filter(sf.col("rank") <= MAX_EXAMPLES)
        .collect()
    )
    ranked = sorted(shown, key=lambda row: (row["anomaly"], row["rank"]))
    return _shaped(row.asDict() for row in ranked)


def choose_from(findings: Iterable[Mapping[str, Any]]) -> Examples:
    """Return what ``choose`` does, of findings that the driver has, none of them void."""
    return _shaped(_first(findings))


def _first(findings: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    seen: Counter[str] = Counter()
    for row in sorted(findings, key=_order):
        seen[row["anomaly"]] += 1
        if seen[row["anomaly"]] <= MAX_EXAMPLES:
            yield row


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    # Spark compares texts by their bytes in UTF-8, which is the order of their characters.
    values = ((row[name] is not None, row[name]) for name in ORDER)
    return row["anomaly"], row["rule"] is not None, *values


def _shaped(rows: Iterable[Mapping[str, Any]]) -> Examples:
    """Return anomaly → examples as the scorecard has them."""
    found: Examples = {}
    for row in rows:
        example = {
            name: row[name]
            for name in FINDING.names[1:]
            if name != "detail" and row[name] is not None
        }
        if row["detail"]:
            example |= json.loads(row["detail"])
        if row.get("void"):
            example["void"] = True
        found.setdefault(row["anomaly"], []).append(example)
    return found
