"""The judgement: every rule over one history, counted in one aggregation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as sf

from krt_scoring.anomalies import (
    aborted_read,
    accepted_below_min_isr,
    commit_ahead,
    commit_rewind,
    context,
    corrupt_payload,
    double_ownership,
    duplicate_delivery,
    duplicate_write,
    holders,
    inconsistent_offsets,
    key_order,
    lost_write,
    neighbourhood,
    nonmonotonic_send,
    poll_order,
    precommitted_read,
    replica_divergence,
    unexpected_rebalance,
    unseen,
    vanished_read,
)
from krt_scoring.anomalies.findings import (
    FINDING,
    MAX_EXAMPLES,
    UNITS,
    AnomalyResult,
    Judgement,
    result,
)
from krt_scoring.engine.caching import cache
from krt_scoring.engine.dataframes import coalesced, union_all
from krt_scoring.history import ledger_identity, missing

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.tables import Tables

Rule = tuple["Callable[[Context], DataFrame]", "Callable[[Context], bool]"]

RULES: tuple[Rule, ...] = (
    (lost_write.find, lambda ctx: ctx.history.records.totals["missing"] > 0),
    (vanished_read.find, lambda ctx: ctx.history.records.totals["vanished"] > 0),
    (
        unseen.find,
        lambda ctx: (
            ctx.history.records.totals["undelivered"] + ctx.history.records.totals["skipped"] > 0
        ),
    ),
    (duplicate_write.find, lambda ctx: ctx.history.records.totals["copied"] > 0),
    (inconsistent_offsets.find, lambda ctx: ctx.history.records.totals["misplaced"] > 0),
    (
        aborted_read.find,
        lambda ctx: (
            ctx.history.records.totals["failedInLog"] + ctx.history.records.totals["aborted"] > 0
        ),
    ),
    (poll_order.find_skips, lambda ctx: bool(ctx.history.reading.skipped)),
    (poll_order.find_back, lambda ctx: bool(ctx.history.reading.back)),
    (nonmonotonic_send.find, lambda _: True),
    (
        duplicate_delivery.find,
        lambda ctx: ctx.history.records.totals["oddly"] > 0,
    ),
    (commit_ahead.find, lambda ctx: ctx.history.records.totals["skipped"] > 0),
    (commit_rewind.find, lambda ctx: bool(commit_rewind.rewound(ctx))),
    (double_ownership.find, lambda ctx: bool(double_ownership.overlaps(ctx))),
    (unexpected_rebalance.find, lambda ctx: bool(unexpected_rebalance.unexplained(ctx))),
    (key_order.find, key_order.possible),
    (accepted_below_min_isr.find, lambda ctx: bool(accepted_below_min_isr.windows(ctx))),
    (precommitted_read.find, precommitted_read.possible),
    (
        corrupt_payload.find,
        lambda ctx: (
            ctx.history.records.totals["corrupt"] + ctx.history.records.totals["strange"] > 0
        ),
    ),
    (replica_divergence.find, lambda ctx: bool(ctx.history.differing_replicas)),
)
"""(rule, whether the totals leave it anything to find): planning and compiling a query that
cannot find anything costs more than running it."""


def judge(history: Tables) -> Judgement:
    """Judge a history.

    Deterministic: the same evidence gives the same judgement whatever the order of files and
    the parallelism.
    """
    ctx = context.build(history)
    try:
        return judge_base(ctx)
    finally:
        ctx.release()


def judge_base(ctx: Context) -> Judgement:
    """Judge a history whose base tables are built."""
    found = findings(ctx)
    if found is None:
        return judge_found(ctx, found)
    held = cache(found)
    try:
        return judge_found(ctx, held.rows)
    finally:
        held.release()


def judge_found(ctx: Context, found: DataFrame | None) -> Judgement:
    """Judge a history whose findings are there; cached, since they are read twice."""
    terms, unbalanced = ledger_identity.ledger(ctx.history.records.totals, ctx.history.facts)
    terms["foreign"] = missing.foreign(ctx.history)
    anomalies = _results(found, ctx)
    return Judgement(
        ledger=terms,
        anomalies=anomalies,
        reasons=(*unbalanced, *missing.reasons(ctx.history, terms)),
        truncations=tuple(item.as_dict() for item in ctx.allowances.truncations),
    )


def findings(ctx: Context) -> DataFrame | None:
    """Return the findings of every rule, None where no rule has anything to find."""
    # Else every rule would add a task for each partition of all records.
    suspects = ctx.history.records.totals["suspects"]
    due = [coalesced(find(ctx), suspects) for find, applies in RULES if applies(ctx)]
    return union_all(due) if due else None


def _results(found: DataFrame | None, ctx: Context) -> tuple[AnomalyResult, ...]:
    counts: dict[str, dict[str | None, int]] = {name: {} for name in UNITS}
    tags: dict[str, dict[str, int]] = {name: {} for name in UNITS}
    examples: dict[str, list[dict[str, Any]]] = {name: [] for name in UNITS}
    if found is not None:
        rows = found.groupBy("anomaly", "rule", "tag").count().collect()
        for row in rows:
            by_rule = counts[row["anomaly"]]
            by_rule[row["rule"]] = by_rule.get(row["rule"], 0) + row["count"]
            if row["tag"] is not None:
                by_tag = tags[row["anomaly"]]
                by_tag[row["tag"]] = by_tag.get(row["tag"], 0) + row["count"]
        if rows:
            examples |= _examples(found)
            neighbourhood.add(ctx, examples)
            holders.add(ctx, examples)
    return tuple(result(name, counts[name], tags[name], tuple(examples[name])) for name in UNITS)


ORDER = ("topic", "partition", "offset", "seq", "producer", "producer_incarnation", "grp")
"""Order of examples: a total one, so that the same ones are shown every time."""


def _examples(found: DataFrame) -> dict[str, list[dict[str, Any]]]:
    order = [
        sf.col(name).asc_nulls_first() for name in (*ORDER, "consumer", "incarnation", "event_seq")
    ]
    order += [sf.col(name).asc_nulls_first() for name in ("tag", "rule", "detail")]
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
