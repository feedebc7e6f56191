"""Why an anomaly is not looked for in a run, in the words of report and JUnit file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

WHY_UNCHECKED: Final[Mapping[str, str]] = {
    "replica-divergence": "set spec.evidence.compareReplicas to compare the replicas",
    "accepted-below-min-isr": "polling the cluster does not show the ISR at each moment",
}
"""Anomaly (``krt_scoring.anomalies.registry.unchecked``) → why, or what to do."""
