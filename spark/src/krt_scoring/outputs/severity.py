"""The order in which anomalies are shown: by how much each of them matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.verdict.score_inputs import DELIVERY, LOSS, ORDER

if TYPE_CHECKING:
    from collections.abc import Mapping

DURABILITY = (*LOSS, "accepted-below-min-isr")
"""Records are lost, or were acknowledged at that risk."""

CLASSES = ("Violation", "Void", "AllowedByConfig")
"""Of anomalies that were observed, the most severe first."""

RANKS = (DURABILITY, DELIVERY, ORDER)
"""By the weight of the score's component, so that a loss comes before what follows from it."""


def standing(anomaly: Mapping[str, Any]) -> int:
    """Return how many violations of an anomaly of the scorecard are not void."""
    return int(anomaly["violations"] - anomaly.get("void", 0))


def by_severity(anomalies: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the anomalies that were observed, the most severe first.

    Violations, then what is void, then what the configuration permits; of each by kind, then the
    larger count first.

    Args:
        anomalies: ``anomalies`` of the scorecard.
    """
    return sorted(
        (name for name, item in anomalies.items() if item["count"]),
        key=lambda name: (
            CLASSES.index(anomalies[name]["class"]),
            next((rank for rank, names in enumerate(RANKS) if name in names), len(RANKS)),
            -anomalies[name]["count"],
            name,
        ),
    )
