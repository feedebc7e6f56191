"""Scoring bundles of histories: what was found of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from krt_contract.bundle import Bundle
from krt_scoring.anomalies import context, detection
from krt_scoring.history import tables
from krt_scoring.inputs import run_info

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from krt_scoring.inputs.reasons import Reason

Findings = Counter[tuple[str, str | None]]
"""(anomaly, the rule that permits it or None) → how many."""


@dataclass(slots=True)
class Scored:
    """What a scoring found.

    Attributes:
        findings: by history; those about a group as a whole under the group's name.
        reasons: what of the evidence was found wanting.
        shown: history → its findings as text, for whoever has to look into one.
    """

    findings: dict[str, Findings] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    shown: dict[str, list[str]] = field(default_factory=dict)

    def of(self, name: str) -> Findings:
        """Return what was found of a history."""
        return self.findings.get(name, Counter())

    def accusations(self, name: str) -> str:
        """Return the findings of a history that nothing permits, as text."""
        return "\n".join(line for line in self.shown.get(name, []) if "'rule'" not in line)


def score(spark: SparkSession, root: Path) -> Scored:
    """Judge a bundle as the job does, and tell its findings apart by history."""
    run = run_info.load(Bundle(root).run_json)
    ctx = context.build(tables.read(spark, root, run))
    try:
        _, reasons = detection.balance_ledger(ctx)
        scored = Scored(reasons=reasons)
        found = detection.find_all(ctx)
        for row in found.collect() if found is not None else []:
            name = row["topic"] or row["grp"]
            scored.findings.setdefault(name, Counter())[row["anomaly"], row["rule"]] += 1
            text = {key: value for key, value in row.asDict().items() if value is not None}
            scored.shown.setdefault(name, []).append(str(text))
        return scored
    finally:
        ctx.release()
