"""Findings of rules that look at small facts only, and are made in the driver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_scoring.anomalies.schema import FINDING
from krt_scoring.engine import local_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.history.base import Base
    from krt_scoring.history.ownership import Interval


def findings(base: Base, rows: list[dict[str, Any]]) -> DataFrame:
    """Return findings from dictionaries; ``detail`` is a dictionary too."""
    texts = [row | {"detail": json.dumps(row.get("detail", {}), sort_keys=True)} for row in rows]
    values = [tuple(row.get(name) for name in FINDING.names) for row in texts]
    return local_rows.frame(base.spark, values, FINDING)


def of_interval(base: Base, name: str, interval: Interval) -> dict[str, Any]:
    """Return the columns of a finding about an ownership."""
    topic, partition = base.facts.places.name(interval.tp)
    return {
        "anomaly": name,
        "topic": topic,
        "partition": partition,
        "offset": interval.start,
        "grp": base.facts.groups[interval.group].name,
        "consumer": interval.consumer,
        "incarnation": interval.incarnation,
        "event_seq": interval.first_n,
    }
