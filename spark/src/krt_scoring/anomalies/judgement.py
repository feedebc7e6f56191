"""The judgement: every rule over one history, counted in one aggregation."""

from __future__ import annotations

import json
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from krt_scoring.anomalies import duplicate_write, lost_write, vanished_read
from krt_scoring.derive import base as base_module
from krt_scoring.findings import FINDING, MAX_EXAMPLES, UNITS, AnomalyResult, Judgement, result
from krt_scoring.ledger import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_scoring.derive.base import Base
    from krt_scoring.history import History

Rule = tuple["Callable[[Base], DataFrame]", "Callable[[Base], bool]"]

RULES: tuple[Rule, ...] = (
    (lost_write.find, lambda base: base.totals["missing"] > 0),
    (vanished_read.find, lambda base: base.totals["vanished"] > 0),
    (duplicate_write.find, lambda base: base.totals["copied"] > 0),
)
"""(rule, whether the totals leave it anything to find): planning and compiling a query that
cannot find anything costs more than running it."""


def judge(history: History) -> Judgement:
    """Judge a history.

    Deterministic: the same evidence gives the same judgement whatever the order of files and
    the parallelism.
    """
    base = base_module.build(history)
    try:
        return _judge(base)
    finally:
        base.records.unpersist()


def _judge(base: Base) -> Judgement:
    terms, reasons = identity.ledger(base.totals, base.facts)
    anomalies = _results(findings(base))
    return Judgement(
        ledger=terms,
        anomalies=anomalies,
        reasons=reasons,
        truncations=tuple(item.as_dict() for item in base.truncations),
    )


def findings(base: Base) -> DataFrame | None:
    """Return the findings of every rule, None where no rule has anything to find."""
    due = [find(base) for find, applies in RULES if applies(base)]
    return reduce(DataFrame.unionAll, due) if due else None


def _results(found: DataFrame | None) -> tuple[AnomalyResult, ...]:
    counts: dict[str, dict[str | None, int]] = {name: {} for name in UNITS}
    tags: dict[str, dict[str, int]] = {name: {} for name in UNITS}
    examples: dict[str, list[dict[str, Any]]] = {name: [] for name in UNITS}
    if found is not None:
        found = found.persist()
        rows = found.groupBy("anomaly", "rule", "tag").count().collect()
        for row in rows:
            by_rule = counts[row["anomaly"]]
            by_rule[row["rule"]] = by_rule.get(row["rule"], 0) + row["count"]
            if row["tag"] is not None:
                by_tag = tags[row["anomaly"]]
                by_tag[row["tag"]] = by_tag.get(row["tag"], 0) + row["count"]
        if rows:
            examples |= _examples(found)
        found.unpersist()
    return tuple(result(name, counts[name], tags[name], tuple(examples[name])) for name in UNITS)


ORDER = ("topic", "partition", "offset", "seq", "producer", "producer_incarnation", "grp")
"""Order of examples: a total one, so that the same ones are shown every time."""


def _examples(found: DataFrame) -> dict[str, list[dict[str, Any]]]:
    order = [sf.col(name).asc_nulls_first() for name in (*ORDER, "consumer", "incarnation", "n")]
    order += [sf.col(name).asc_nulls_first() for name in ("tag", "detail")]
    window = Window.partitionBy("anomaly").orderBy(sf.col("rule").isNotNull(), *order)
    shown = (
        found.withColumn("rank", sf.row_number().over(window))
        .filter(sf.col("rank") <= MAX_EXAMPLES)
        .collect()
    )
    examples: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(shown, key=lambda row: (row["anomaly"], row["rank"])):
        example = {
            name: row[name]
            for name in FINDING.names[1:]
            if name != "detail" and row[name] is not None
        }
        if row["detail"]:
            example |= json.loads(row["detail"])
        examples.setdefault(row["anomaly"], []).append(example)
    return examples
