"""What the traffic of a test does at one time, read from the metrics of its pods. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from krt_contract.metrics import (
    CONSUMER_LAG,
    PRODUCER_WAIT,
    SENDS,
    UNDER_REPLICATED,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prometheus_client.samples import Sample as Value


@dataclass(frozen=True, slots=True)
class Sample:
    """The traffic at one time, as far as the pods answered.

    Attributes:
        at: when, in seconds of a clock that only goes forward.
        sends: producer and outcome (acked, failed, unknown) → sends that ended so since its pod
            started; of the producers that answered.
        lag: group → records that its members have not read yet.
        waits: partition and producer, as people read them → seconds for which sends were due and
            none was acknowledged.
        under_replicated: partitions with fewer in-sync replicas than they should have; None where
            the recorder did not answer.
    """

    at: float
    sends: Mapping[tuple[str, str], int]
    lag: Mapping[str, int]
    waits: Mapping[str, float]
    under_replicated: int | None


def read_sample(at: float, texts: Iterable[str]) -> Sample:
    """Return the sample that the pages of the pods' metrics amount to.

    Raises:
        ValueError: a page is not of Prometheus' text format.
    """
    sends: Counter[tuple[str, str]] = Counter()
    lag: Counter[str] = Counter()
    waits: dict[str, float] = {}
    under_replicated: int | None = None
    for value in _values(texts):
        labels = value.labels
        if value.name == SENDS.name:
            sends[labels["producer"], labels["outcome"]] += int(value.value)
        elif value.name == CONSUMER_LAG.name:
            lag[labels["group"]] += int(value.value)
        elif value.name == PRODUCER_WAIT.name:
            place = f"{labels['topic']}-{labels['partition']} ({labels['producer']})"
            waits[place] = max(value.value, waits.get(place, 0.0))
        elif value.name == UNDER_REPLICATED.name:
            under_replicated = int(value.value)
    return Sample(at, sends, lag, waits, under_replicated)


def _values(texts: Iterable[str]) -> Iterable[Value]:
    for text in texts:
        for family in text_string_to_metric_families(text):
            yield from family.samples
