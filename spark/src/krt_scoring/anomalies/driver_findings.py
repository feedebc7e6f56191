"""Findings of rules that look at small facts only, and are made in the driver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_scoring.anomalies.schema import FINDING
from krt_scoring.engine import local_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.anomalies.context import Context
    from krt_scoring.history.intervals import Interval


def findings(ctx: Context, rows: list[dict[str, Any]]) -> DataFrame:
    """Return findings from dictionaries; ``detail`` is a dictionary too."""
    texts = [row | {"detail": json.dumps(row.get("detail", {}), sort_keys=True)} for row in rows]
    values = [tuple(row.get(name) for name in FINDING.names) for row in texts]
    return local_rows.frame(ctx.spark, values, FINDING)


def of_interval(ctx: Context, name: str, interval: Interval) -> dict[str, Any]:
    """Return the columns of a finding about an ownership."""
    topic, partition = ctx.history.facts.positions.name(interval.tp)
    return {
        "anomaly": name,
        "topic": topic,
        "partition": partition,
        "offset": interval.start,
        "grp": ctx.history.facts.groups[interval.group].name,
        "consumer": interval.consumer,
        "incarnation": interval.incarnation,
        "event_seq": interval.first_seq,
    }
