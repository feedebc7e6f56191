"""What changed from ZooKeeper to KRaft mode, over all scenarios that were run in both."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from krt_cli.scenarios.spread import NOT_MEASURED
from krt_contract.durations import show as show_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from krt_cli.scenarios.results import Result
    from krt_cli.scenarios.spread import Measurement

DURATIONS: dict[str, Callable[[Result], Measurement | None]] = {
    "detection": lambda run: run.part("detect"),
    "election": lambda run: run.part("elect"),
    "longest pause of writes": lambda run: run.objective("maxWriteUnavailability"),
    "longest pause of reads": lambda run: run.objective("maxReadUnavailability"),
}
"""What is compared: a duration of one run."""


@dataclass(frozen=True, slots=True)
class Change:
    """What changed in one duration from ZooKeeper to KRaft mode.

    Attributes:
        what: the duration.
        scenarios: how many were measured in both modes.
        shorter: in how many of them the median is shorter in KRaft mode.
        longer: in how many it is longer.
        change: the median of the changes, ``-`` without any.
    """

    what: str
    scenarios: int
    shorter: int
    longer: int
    change: str


def changes(pairs: Iterable[tuple[Sequence[Result], Sequence[Result]]]) -> list[Change]:
    """Return what changed in each duration.

    A scenario counts for a duration where each mode has a run in which it was seen: below a
    detection limit there is no number to compare.

    Args:
        pairs: of each scenario the runs with ZooKeeper and those in KRaft mode.
    """
    kept = list(pairs)
    found = []
    for what, measure in DURATIONS.items():
        by: list[float] = []
        for zookeeper, kraft in kept:
            before, after = (_typical(map(measure, runs)) for runs in (zookeeper, kraft))
            if before is not None and after is not None:
                by.append(after - before)
        found.append(
            Change(
                what,
                len(by),
                sum(change < 0 for change in by),
                sum(change > 0 for change in by),
                _signed(median(by)) if by else NOT_MEASURED,
            )
        )
    return found


def _typical(measurements: Iterable[Measurement | None]) -> float | None:
    """Return the median in µs; None where there is none, or a run is below its detection limit."""
    found = [item for item in measurements if item is not None]
    if not found or any(item.below for item in found):
        return None
    return median(item.value for item in found)


def _signed(change: float) -> str:
    text = show_duration(abs(round(change)))
    if not round(change):
        return text
    return f"{'+' if change > 0 else '-'}{text}"
