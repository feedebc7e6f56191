"""Reading what Prometheus would read of a source of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krt_traffic.metrics.families import Source


def scrape(*sources: Source) -> dict[str, float]:
    """Return sample → value of sources; a sample as ``name{value,value}``, labels in order."""
    return {
        f"{sample.name}{{{','.join(sample.labels.values())}}}": sample.value
        for source in sources
        for family in source.collect()
        for sample in family.samples
    }
