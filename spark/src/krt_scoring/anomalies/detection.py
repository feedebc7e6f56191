"""The detection: every rule over one history, counted in one aggregation."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_scoring.anomalies import context, example_history, surviving_replicas, voids
from krt_scoring.anomalies.registry import RULES, UNITS
from krt_scoring.anomalies.results import MAX_EXAMPLES, AnomalyResult, Detection, summarize
from krt_scoring.anomalies.schema import FINDING
from krt_scoring.engine.caching import cache
from krt_scoring.engine.dataframes import coalesced, union_all
from krt_scoring.history import ledger_identity, missing
from krt_scoring.inputs.reasons import wholly_invalidated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import Column, DataFrame

    from krt_scoring.anomalies.context import Context
    from krt_scoring.anomalies.registry import Rule
    from krt_scoring.history.tables import Tables
    from krt_scoring.inputs.reasons import Reason


def detect(history: Tables) -> Detection:
    """Detect the anomalies of a history.

    Deterministic: the same evidence gives the same result whatever the order of files and the
    parallelism.
    """
    ctx = context.build(history)
    try:
        return detect_in(ctx)
    finally:
        ctx.release()


def detect_in(ctx: Context) -> Detection:
    """Detect the anomalies of a history that is built already."""
    with cached_findings(ctx) as findings:
        return count_findings(ctx, findings)


@contextmanager
def cached_findings(ctx: Context) -> Iterator[DataFrame | None]:
    """Cache the findings of every rule within the block; None where no rule can find anything."""
    findings = find_all(ctx)
    if findings is None:
        yield None
        return
    cached = cache(findings)
    try:
        yield cached.rows
    finally:
        cached.release()


def find_all(ctx: Context, rules: Iterable[Rule] | None = None) -> DataFrame | None:
    """Return the findings of some rules, None where none of them can find anything.

    Args:
        ctx: the history and what its configuration allows.
        rules: the rules; all where None.
    """
    chosen = RULES if rules is None else rules
    # Else every rule would add a task for each partition of all records.
    suspects = ctx.history.records.totals["suspects"]
    found = [coalesced(rule.find(ctx), suspects) for rule in chosen if rule.possible(ctx)]
    return union_all(found) if found else None


def count_findings(ctx: Context, findings: DataFrame | None) -> Detection:
    """Count the findings of a history and choose the examples.

    Args:
        ctx: the history and what its configuration allows.
        findings: the findings of every rule; they are read twice, so they should be cached.
    """
    ledger, reasons = balance_ledger(ctx)
    return Detection(
        ledger=ledger,
        anomalies=_results(findings, ctx),
        reasons=reasons,
        truncations=tuple(item.as_dict() for item in ctx.allowances.truncations),
        producers=ledger_identity.ledgers(ctx.history.facts),
    )


def with_voids(
    ctx: Context, findings: DataFrame | None, detection: Detection, reasons: Iterable[Reason]
) -> Detection:
    """Return what was detected, with the violations that rest on missing evidence told apart.

    Where only some of an anomaly do, its examples are chosen again: those that stand come first,
    and each of the others is marked ``void``.

    Args:
        ctx: the history and what its configuration allows.
        findings: the findings of every rule, cached.
        detection: what was detected.
        reasons: why a part of the run proves nothing.
    """
    reasons = tuple(reasons)
    scopes = voids.narrow_scopes(reasons)
    void = voids.count(findings, wholly_invalidated(reasons), scopes, detection.violations)
    partly = {name: scopes[name] for name in void if name in scopes}
    examples: dict[str, list[dict[str, Any]]] = {}
    if findings is not None and partly:
        concerned = findings.filter(sf.col("anomaly").isin(*partly))
        examples = _examples(concerned, voids.within(partly))
        _complete(ctx, examples)
    anomalies = tuple(
        replace(
            item,
            void=void.get(item.name, 0),
            examples=tuple(examples.get(item.name, item.examples)),
        )
        for item in detection.anomalies
    )
    return replace(detection, anomalies=anomalies)


def balance_ledger(ctx: Context) -> tuple[dict[str, int], tuple[Reason, ...]]:
    """Return outcome of the ledger identity → records, and what the ledgers lack."""
    outcomes, unbalanced = ledger_identity.ledger(ctx.history.records.totals, ctx.history.facts)
    foreign = missing.foreign(ctx.history)
    outcomes["foreign"] = sum(foreign.values())
    return outcomes, (*unbalanced, *missing.reasons(ctx.history, foreign))


def _results(findings: DataFrame | None, ctx: Context) -> tuple[AnomalyResult, ...]:
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
            _complete(ctx, examples)
    return tuple(
        summarize(name, unit, counts[name], tags[name], tuple(examples[name]))
        for name, unit in UNITS.items()
    )


EXAMPLE_ORDER = (
    *("topic", "partition", "offset", "seq", "producer", "producer_incarnation", "grp"),
    *("consumer", "incarnation", "event_seq", "tag", "rule", "detail"),
)
"""Order of examples: a total one, so that the same findings are shown every time."""


def _complete(ctx: Context, examples: dict[str, list[dict[str, Any]]]) -> None:
    """Add to the examples what the history holds around them."""
    example_history.add(ctx, examples)
    surviving_replicas.add(ctx, examples)


def _examples(findings: DataFrame, void: Column | None = None) -> dict[str, list[dict[str, Any]]]:
    """Choose examples: violations that stand first, then void ones, then what is permitted."""
    order = [sf.col(name).asc_nulls_first() for name in EXAMPLE_ORDER]
    marked = findings.withColumn("void", sf.lit(col=False) if void is None else void)
    window = Window.partitionBy("anomaly").orderBy(sf.col("rule").isNotNull(), "void", *order)
    shown = (
        marked.withColumn("rank", sf.row_number().over(window))
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
        if row["void"]:
            example["void"] = True
        examples.setdefault(row["anomaly"], []).append(example)
    return examples
