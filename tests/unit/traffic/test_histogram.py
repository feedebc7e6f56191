from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.traffic.scrapes import scrape

from krt_contract.metrics import PRODUCE_LATENCY
from krt_traffic.metrics.families import distribution
from krt_traffic.metrics.histogram import Histogram

BOUNDS = (10, 100, 1000)


def test_observe_counts_values_up_to_and_including_each_bound() -> None:
    histogram = Histogram(BOUNDS)
    histogram.observe([1000, 10, 11, 5000])
    histogram.observe([])
    histogram.observe([7])
    assert histogram.read() == ((2, 3, 4), 5, 6028)


def test_observe_of_a_negative_value_counts_it_as_zero() -> None:
    histogram = Histogram(BOUNDS)
    histogram.observe([-500, 20])
    assert histogram.read() == ((1, 2, 2), 2, 20)


@given(st.lists(st.lists(st.integers(-50, 2000), max_size=20), max_size=5))
def test_observe_in_parts_counts_what_each_value_alone_would(parts: list[list[int]]) -> None:
    values = [max(value, 0) for part in parts for value in part]
    histogram = Histogram(BOUNDS)
    for part in parts:
        histogram.observe(part)
    within = tuple(sum(value <= bound for value in values) for bound in BOUNDS)
    assert histogram.read() == (within, len(values), sum(values))


@settings(deadline=None)
@given(st.lists(st.integers(-50, 2000), max_size=20), st.lists(st.integers(-50, 2000), max_size=20))
def test_observe_of_a_column_counts_what_a_list_counts(first: list[int], second: list[int]) -> None:
    listed, columns = Histogram(BOUNDS), Histogram(BOUNDS)
    for part in (first, second):
        columns.observe(pa.array(part, pa.int64()))
        listed.observe(part)
    assert columns.read() == listed.read()


def test_distribution_is_cumulative_and_in_seconds() -> None:
    histogram = Histogram((1_000, 2_500_000))
    histogram.observe([900, 2_000_000, 9_000_000])

    class Latency:
        def collect(self) -> list[object]:
            return [distribution(PRODUCE_LATENCY, ("t", "main-0"), histogram)]

    assert scrape(Latency()) == {  # type: ignore[arg-type]
        "krt_produce_latency_seconds_bucket{t,main-0,0.001}": 1,
        "krt_produce_latency_seconds_bucket{t,main-0,2.5}": 2,
        "krt_produce_latency_seconds_bucket{t,main-0,+Inf}": 3,
        "krt_produce_latency_seconds_count{t,main-0}": 3,
        "krt_produce_latency_seconds_sum{t,main-0}": 11.0009,
    }
