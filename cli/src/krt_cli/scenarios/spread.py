"""A number over several runs: median, least and greatest, and in how many runs it was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from krt_contract.durations import show as show_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Measurement:
    """A number of one run.

    Attributes:
        value: a count, or µs of a duration.
        duration: whether it is a duration.
        below: nothing was seen; whatever there was is shorter than ``value``, the detection limit.
    """

    value: int
    duration: bool = False
    below: bool = False

    def __str__(self) -> str:
        """Return the number with its unit; ``< 5.00 s`` where nothing was seen."""
        text = show_duration(self.value) if self.duration else str(self.value)
        return f"< {text}" if self.below else text


NOT_MEASURED = "-"
"""What stands for a number that no run has."""


def spread(measurements: Iterable[Measurement | None], runs: int = 0) -> str:
    """Return a number over several runs: ``5 (0 to 21, n = 6)``, median before least and greatest.

    What was below its detection limit counts as less than what was seen. Of the two in the middle
    of an even number of runs the median is the mean; where one was not seen, it is that one.

    Args:
        measurements: the number in each run; None where a run does not have it.
        runs: how many there are, where the page says so; n is left out where all of them have it.
    """
    found = sorted(
        (item for item in measurements if item is not None),
        key=lambda item: (not item.below, item.value),
    )
    if not found:
        return NOT_MEASURED
    median = _median(found)
    least, greatest = str(found[0]), str(found[-1])
    parts = [] if least == greatest else [f"{least} to {greatest}"]
    parts += [] if len(found) == runs else [f"n = {len(found)}"]
    return f"{median} ({', '.join(parts)})" if parts else median


def _median(ordered: Sequence[Measurement]) -> str:
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    total = low.value + high.value
    if low.below or low.value == high.value:
        return str(low)
    if low.duration or total % 2 == 0:
        return str(replace(low, value=total // 2))
    return f"{total / 2:.1f}"
