"""Latencies of operations, by what was done, by whom, and in which part of the run."""

from __future__ import annotations

from dataclasses import dataclass, field

from krt_scoring.metrics.histogram import Histogram, merge

Key = tuple[str, str, str]
"""Kind (write, read or endToEnd), group (empty for writes), part of the run (startup, before,
during or after)."""


@dataclass(slots=True)
class Latencies:
    """Histograms of latencies in µs."""

    histograms: dict[Key, Histogram] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Latencies counted."""
        return sum(histogram.total for histogram in self.histograms.values())

    def add(self, key: Key, index: int, count: int, largest: int) -> None:
        """Count ``count`` latencies of a bin whose largest is ``largest`` µs."""
        self.histograms.setdefault(key, Histogram()).add(index, count, largest)

    def over(self, kind: str, *parts: str, group: str | None = None) -> Histogram:
        """Return the latencies of a kind over some parts of the run."""
        return merge(
            histogram
            for (found, owner, part), histogram in sorted(self.histograms.items())
            if found == kind and part in parts and group in (None, owner)
        )
