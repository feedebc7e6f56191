"""Turns samples of the traffic into rates, and into a line for each outage that begins or ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_cli.watch.samples import Sample

OUTAGE_S: Final = 1.0
"""Seconds without an acknowledgement from which a partition is shown as unavailable, as in
`krt_producer_open_outages`. The verdict rests on the evidence, which knows shorter ones."""

OUTCOMES: Final = ("acked", "failed", "unknown")


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
        return ", ".join(f"{place} for {wait:.1f} s" for place, wait in sorted(self._open.items()))

    def update(self, sample: Sample) -> Iterator[str]:
        """Yield a line for each outage that the sample shows to begin or to end."""
        for place, wait in sorted(sample.waits.items()):
            if wait >= OUTAGE_S:
                if place not in self._open:
                    yield f"writes unavailable: {place}, for {wait:.1f} s so far"
                self._open[place] = max(wait, self._open.get(place, 0.0))
            elif place in self._open:
                yield f"writes available: {place}, after {self._open.pop(place):.1f} s or more"
        self.rates = self._rates(sample)
        self._before = sample

    def _rates(self, sample: Sample) -> str:
        """Return the rates since the sample before; none if a producer counts from 0 again."""
        parts = []
        before = self._before
        if before is not None and sample.at > before.at:
            ended = {
                each: sample.sends.get(each, 0) - before.sends.get(each, 0) for each in OUTCOMES
            }
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
