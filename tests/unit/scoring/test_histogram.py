"""Histograms of latencies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from krt_scoring.metrics import histogram


@given(st.integers(0, 1 << 40))
def test_bin_of_keeps_a_value_within_1_6_percent(value: int) -> None:
    edge = histogram.upper_edge(histogram.bin_of(value))
    assert value <= edge <= value + value // 64 + 1
    assert histogram.bin_of(edge) == histogram.bin_of(value)


@given(st.lists(st.integers(0, 10**8), min_size=1, max_size=300), st.integers(1, 3))
def test_merge_of_parts_gives_the_percentiles_of_the_whole(values: list[int], parts: int) -> None:
    whole = histogram.Histogram()
    pieces = [histogram.Histogram() for _ in range(parts)]
    for index, value in enumerate(values):
        for target in (whole, pieces[index % parts]):
            target.add(histogram.bin_of(value), 1, value)
    assert histogram.merge(pieces).as_dict() == whole.as_dict()
    exact = sorted(values)[-(-len(values) * 99 // 100) - 1]
    assert exact <= whole.percentile(99) <= exact + exact // 64 + 1
