"""A pod's metrics in the form that Prometheus' client writes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)

from krt_contract.metrics import MetricKind
from krt_traffic.clock import SECOND_MICROS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.metrics_core import Metric as Family

    from krt_contract.metrics import Metric
    from krt_traffic.metrics.histogram import Histogram

Labels = tuple[str, ...]
"""Values of a metric's labels, in its order."""


class Source(Protocol):
    """Something that has metrics."""

    def collect(self) -> Iterable[Family]:
        """Return the metrics as they are now; called from the thread that answers a scrape."""


class Sources:
    """The sources of a pod, as one collector of Prometheus' client.

    Args:
        sources: of the metrics.
    """

    def __init__(self, *sources: Source) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Family]:
        """Yield the metrics of all sources."""
        for source in self._sources:
            yield from source.collect()


def values(metric: Metric, samples: Iterable[tuple[Labels, float]]) -> Family:
    """Return a counter or gauge.

    Args:
        metric: what it is.
        samples: values of its labels, each with its value.
    """
    kind = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def distribution(metric: Metric, labels: Labels, histogram: Histogram) -> Family:
    """Return a histogram with one set of labels, in seconds."""
    family = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    counts, total, micros = histogram.read()
    bounds = [repr(bound / SECOND_MICROS) for bound in histogram.bounds]
    buckets = [*zip(bounds, counts, strict=True), ("+Inf", total)]
    family.add_metric(labels, buckets, micros / SECOND_MICROS)
    return family
