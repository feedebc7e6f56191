"""Turns samples of the traffic into rates, and into a line for each outage that begins or ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.short_list import short_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krt_cli.watch.samples import Sample

OUTAGE_S: Final = 1.0
"""Seconds without an acknowledgement from which a partition is shown as unavailable, as in
`krt_producer_open_outages`. The verdict rests on the evidence, which knows shorter ones."""

OUTCOMES: Final = ("acked", "failed", "unknown")

NAMED: Final = 3
"""Partitions that a line names; the others are counted."""


class Traffic:
    """Remembers the sample before and the outages that are open."""

    def __init__(self) -> None:
        self._before: Sample | None = None
        self._open: dict[str, float] = {}
        self.rates = ""
        """What is sent per second and what is behind; empty where that is not known yet."""

    @property
    def outages(self) -> str:
        """The partitions that take no writes now, with the seconds so far; empty where all do."""
        return f"{_places(self._open)} for {max(self._open.values()):.1f} s" if self._open else ""

    def update(self, sample: Sample) -> Iterator[str]:
        """Yield a line for the outages that the sample shows to begin, and one for those that end.

        Of a partition whose producer does not answer, nothing is known.
        """
        begun = {
            place: wait
            for place, wait in sample.waits.items()
            if wait >= OUTAGE_S and place not in self._open
        }
        for place, wait in sample.waits.items():
            if wait >= OUTAGE_S:
                self._open[place] = max(wait, self._open.get(place, 0.0))
        ended = {
            place: self._open.pop(place)
            for place, wait in sample.waits.items()
            if wait < OUTAGE_S and place in self._open
        }
        if begun:
            yield f"writes unavailable: {_places(begun)}, for {max(begun.values()):.1f} s so far"
        if ended:
            yield f"writes available: {_places(ended)}, after {max(ended.values()):.1f} s or more"
        self.rates = self._rates(sample)
        self._before = sample

    def _rates(self, sample: Sample) -> str:
        """Return the rates since the sample before; none if a producer counts from 0 again.

        Nor if other producers answer than before: the difference would be theirs.
        """
        before = self._before
        if before is None or not sample.sends:
            return ""
        parts = []
        if sample.at > before.at and _producers(sample) == _producers(before):
            ended = {each: _ended(sample, each) - _ended(before, each) for each in OUTCOMES}
            if all(number >= 0 for number in ended.values()):
                seconds = sample.at - before.at
                shown = ", ".join(
                    f"{number / seconds:.0f} {each}" for each, number in ended.items()
                )
                parts.append(f"sends per second: {shown}")
        if sample.lag:
            parts.append("lag: " + ", ".join(f"{g} {n}" for g, n in sorted(sample.lag.items())))
        if sample.under_replicated is not None:
            parts.append(f"under-replicated partitions: {sample.under_replicated}")
        return "; ".join(parts)


def _producers(sample: Sample) -> set[str]:
    return {producer for producer, _ in sample.sends}


def _ended(sample: Sample, outcome: str) -> int:
    return sum(count for (_, of), count in sample.sends.items() if of == outcome)


def _places(waits: Iterable[str]) -> str:
    """Return the first partitions by name, and how many more there are."""
    return short_list(sorted(waits), NAMED)
