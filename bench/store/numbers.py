"""Times of two ways of doing one thing, in turn, as a table."""

from __future__ import annotations

from statistics import median, quantiles
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PERCENT = 100


def percentile(values: Sequence[float], share: int) -> float:
    """Return the value that ``share`` percent of at least two values do not exceed."""
    return quantiles(values, n=PERCENT, method="inclusive")[share - 1]


def spread(values: Sequence[float], form: str) -> str:
    """Return minimum, median and maximum."""
    return " / ".join(format(value, form) for value in (min(values), median(values), max(values)))


def ratios(values: Sequence[float], base: Sequence[float]) -> list[float]:
    """Return each value over that of the same round."""
    return [value / other for value, other in zip(values, base, strict=True)]
