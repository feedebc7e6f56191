"""The order in which anomalies are shown: by how much each of them matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.verdict.score_inputs import DELIVERY, LOSS, ORDER

if TYPE_CHECKING:
    from collections.abc import Mapping

DURABILITY = (*LOSS, "accepted-below-min-isr")
"""Records are lost, or were acknowledged at that risk."""

RANKS = (DURABILITY, DELIVERY, ORDER)
"""By the weight of the score's component, so that a loss comes before what follows from it."""


def by_severity(anomalies: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the anomalies that were observed, the most severe first.

    Violations before what the configuration permits, then by kind, then the larger count first.

    Args:
        anomalies: ``anomalies`` of the scorecard.
    """
    return sorted(
        (name for name, item in anomalies.items() if item["count"]),
        key=lambda name: (
            anomalies[name]["class"] != "Violation",
            next((rank for rank, names in enumerate(RANKS) if name in names), len(RANKS)),
            -anomalies[name]["count"],
            name,
        ),
    )
