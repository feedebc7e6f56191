"""The detection: every rule over one history, and all that they find counted together."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from krt_scoring.anomalies import (
    context,
    example_history,
    examples,
    surviving_replicas,
    voids,
)
from krt_scoring.anomalies.registry import RULES, UNITS
from krt_scoring.anomalies.results import AnomalyResult, Detection, summarize
from krt_scoring.engine.caching import cache
from krt_scoring.engine.dataframes import coalesced, union_all
from krt_scoring.history import ledger_identity, missing
from krt_scoring.inputs.reasons import wholly_invalidated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context
    from krt_scoring.anomalies.registry import Rule
    from krt_scoring.history.tables import Tables
    from krt_scoring.inputs.reasons import Reason


FEW = 10_000
"""Up to so many findings (some 5 MB) the driver collects, counts and sorts itself: two queries less
to compile, which on a small history take longer than they run."""

Kind = tuple[str, str | None, str | None]
"""Anomaly, rule that permits it, tag."""


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
        findings: the findings of every rule; they are read up to three times, so they should be
            cached.
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
    chosen: dict[str, list[dict[str, Any]]] = {}
    if findings is not None and partly:
        concerned = findings.filter(sf.col("anomaly").isin(*partly))
        chosen = examples.choose(concerned, voids.within(partly))
        _complete(ctx, chosen)
    anomalies = tuple(
        replace(
            item,
            void=void.get(item.name, 0),
            examples=tuple(chosen.get(item.name, item.examples)),
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
    shown: dict[str, list[dict[str, Any]]] = {name: [] for name in UNITS}
    if findings is not None:
        counted, chosen = count_kinds(findings)
        for (name, rule, tag), count in counted.items():
            counts[name][rule] = counts[name].get(rule, 0) + count
            if tag is not None:
                tags[name][tag] = tags[name].get(tag, 0) + count
        shown |= chosen
        _complete(ctx, shown)
    return tuple(
        summarize(name, unit, counts[name], tags[name], tuple(shown[name]))
        for name, unit in UNITS.items()
    )


def count_kinds(findings: DataFrame) -> tuple[Counter[Kind], dict[str, list[dict[str, Any]]]]:
    """Return how many findings there are of each kind, and the examples of each anomaly."""
    few = [row.asDict() for row in findings.limit(FEW + 1).collect()]
    if len(few) <= FEW:
        kinds = Counter((row["anomaly"], row["rule"], row["tag"]) for row in few)
        return kinds, examples.choose_from(few)
    rows = findings.groupBy("anomaly", "rule", "tag").count().collect()
    kinds = Counter({(row["anomaly"], row["rule"], row["tag"]): row["count"] for row in rows})
    return kinds, examples.choose(findings)


def _complete(ctx: Context, chosen: dict[str, list[dict[str, Any]]]) -> None:
    """Add to examples what the history holds around them."""
    example_history.add(ctx, chosen)
    surviving_replicas.add(ctx, chosen)
