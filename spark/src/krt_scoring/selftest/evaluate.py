"""The detector put to work on a copy, and what it found otherwise than before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.anomalies import context, judgement
from krt_scoring.history import ledger_identity, missing
from krt_scoring.selftest.baseline import STRIDE
from krt_scoring.selftest.difference import (
    KEY,
    Difference,
    Finding,
    doubts,
    plus,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from krt_scoring.history.tables import Tables
    from krt_scoring.inputs.reasons import Reason

LIMIT = 10_000
"""Findings of a difference that are looked at; the corruptions of a copy expect some hundreds."""


@dataclass(frozen=True)
class Judged:
    """What the rules say of a history: findings (None where none), ledger terms, reasons."""

    found: DataFrame | None
    ledger: Mapping[str, int]
    reasons: tuple[Reason, ...]


def difference(before: Judged, history: Tables) -> Difference:
    """Judge a corrupted copy by the scorer's own rules and return what it differs in.

    Args:
        before: the judgement on the history as it is.
        history: the copy.
    """
    ctx = context.build(history)
    try:
        found = judgement.findings(ctx)
        terms, unbalanced = ledger_identity.ledger(ctx.history.records.totals, ctx.history.facts)
        terms["foreign"] = missing.foreign(ctx.history)
        reasons = (*unbalanced, *missing.reasons(ctx.history, terms))
        return Difference(
            findings=plus(_compared(before.found, found), {}),
            ledger=plus(terms, before.ledger, -1),
            reasons=doubts(reasons) ^ doubts(before.reasons),
        )
    finally:
        ctx.release()


def _compared(before: DataFrame | None, after: DataFrame | None) -> dict[Finding, int]:
    """Return finding → how many more of it there are in the copy."""
    sides = []
    if before is not None:
        sides.append(
            before.withColumns({"event_seq": sf.col("event_seq") * STRIDE, "weight": sf.lit(-1)})
        )
    if after is not None:
        sides.append(after.withColumn("weight", sf.lit(1)))
    if not sides:
        return {}
    rows = [side.select(*KEY, "weight") for side in sides]
    both = rows[0] if len(rows) == 1 else rows[0].unionAll(rows[1])
    total = both.groupBy(*KEY).agg(sf.sum("weight").cast("int").alias("count"))
    differing = total.filter(sf.col("count") != 0).orderBy(*KEY).limit(LIMIT)
    return {
        Finding(**{name: row[name] for name in KEY}): row["count"] for row in differing.collect()
    }
