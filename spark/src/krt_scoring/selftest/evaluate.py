"""Detection on a corrupted copy, and how its result differs from that on the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.anomalies import context, detection
from krt_scoring.selftest.baseline import STRIDE
from krt_scoring.selftest.difference import (
    KEY,
    Difference,
    Finding,
    identities,
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
class Detected:
    """What the rules detected in a history.

    Attributes:
        findings: of every rule; None where no rule can find anything.
        ledger: outcome of the ledger identity → records.
        reasons: what the ledgers lack.
    """

    findings: DataFrame | None
    ledger: Mapping[str, int]
    reasons: tuple[Reason, ...]


def difference(before: Detected, history: Tables) -> Difference:
    """Apply the scorer's own rules to a corrupted copy and return how the result differs.

    Args:
        before: what was detected in the history as it is.
        history: the copy.
    """
    ctx = context.build(history)
    try:
        findings = detection.find_all(ctx)
        ledger, reasons = detection.balance_ledger(ctx)
        return Difference(
            findings=plus(_compared(before.findings, findings), {}),
            ledger=plus(ledger, before.ledger, -1),
            reasons=identities(reasons) ^ identities(before.reasons),
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
