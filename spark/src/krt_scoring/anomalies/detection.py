"""The detection: every rule over one history, counted in one aggregation."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_scoring.anomalies import example_history, surviving_replicas
from krt_scoring.anomalies.registry import RULES, UNITS
from krt_scoring.anomalies.results import MAX_EXAMPLES, AnomalyResult, Detection, summarize
from krt_scoring.anomalies.schema import FINDING
from krt_scoring.engine.caching import hold
from krt_scoring.history import base as base_module
from krt_scoring.history import ledger_identity, ledger_missing
from krt_scoring.history.union import together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from krt_scoring.history.base import Base
    from krt_scoring.history.tables import History
    from krt_scoring.inputs.reasons import Reason


def detect(history: History) -> Detection:
    """Detect the anomalies of a history.

    Deterministic: the same evidence gives the same result whatever the order of files and the
    parallelism.
    """
    base = base_module.build(history)
    try:
        return detect_in(base)
    finally:
        base.release()


def detect_in(base: Base) -> Detection:
    """Detect the anomalies of a history whose base tables are built."""
    with cached_findings(base) as findings:
        return count_findings(base, findings)


@contextmanager
def cached_findings(base: Base) -> Iterator[DataFrame | None]:
    """Cache the findings of every rule within the block; None where no rule can find anything."""
    findings = find_all(base)
    if findings is None:
        yield None
        return
    cached = hold(findings)
    try:
        yield cached.rows
    finally:
        cached.release()


def find_all(base: Base) -> DataFrame | None:
    """Return the findings of every rule, None where no rule can find anything."""
    # Else every rule would add a task for each partition of all records.
    suspects = base.totals["suspects"]
    found = [
        base_module.gathered(rule.find(base), suspects) for rule in RULES if rule.possible(base)
    ]
    return together(found) if found else None


def count_findings(base: Base, findings: DataFrame | None) -> Detection:
    """Count the findings of a history and choose the examples.

    Args:
        base: the base tables of the history.
        findings: the findings of every rule; they are read twice, so they should be cached.
    """
    ledger, reasons = balance_ledger(base)
    return Detection(
        ledger=ledger,
        anomalies=_results(findings, base),
        reasons=reasons,
        truncations=tuple(item.as_dict() for item in base.truncations),
    )


def balance_ledger(base: Base) -> tuple[dict[str, int], tuple[Reason, ...]]:
    """Return outcome of the ledger identity → records, and what the ledgers lack."""
    outcomes, unbalanced = ledger_identity.ledger(base.totals, base.facts)
    outcomes["foreign"] = ledger_missing.foreign(base)
    return outcomes, (*unbalanced, *ledger_missing.reasons(base, outcomes))


def _results(findings: DataFrame | None, base: Base) -> tuple[AnomalyResult, ...]:
    counts: dict[str, dict[str | None, int]] = {name: {} for name in UNITS}
    tags: dict[str, dict[str, int]] = {name: {} for name in UNITS}
    examples: dict[str, list[dict[str, Any]]] = {name: [] for name in UNITS}
    if findings is not None:
        rows = findings.groupBy("anomaly", "rule", "tag").count().collect()
        for row in rows:
            by_rule = counts[row["anomaly"]]
            by_rule[row["rule"]] = by_rule.get(row["rule"], 0) + row["count"]
            if row["tag"] is not None:
                by_tag = tags[row["anomaly"]]
                by_tag[row["tag"]] = by_tag.get(row["tag"], 0) + row["count"]
        if rows:
            examples |= _examples(findings)
            example_history.add(base, examples)
            surviving_replicas.add(base, examples)
    return tuple(
        summarize(name, unit, counts[name], tags[name], tuple(examples[name]))
        for name, unit in UNITS.items()
    )


EXAMPLE_ORDER = (
    *("topic", "partition", "offset", "seq", "producer", "producer_incarnation", "grp"),
    *("consumer", "incarnation", "event_seq", "tag", "rule", "detail"),
)
"""Order of examples: a total one, so that the same findings are shown every time."""


def _examples(findings: DataFrame) -> dict[str, list[dict[str, Any]]]:
    order = [sf.col(name).asc_nulls_first() for name in EXAMPLE_ORDER]
    window = Window.partitionBy("anomaly").orderBy(sf.col("rule").isNotNull(), *order)
    shown = (
        findings.withColumn("rank", sf.row_number().over(window))
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
