"""How a number over several runs is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krt_cli.scenarios.spread import Measurement, spread


def seen(*seconds: float) -> list[Measurement]:
    return [Measurement(round(value * 1_000_000), duration=True) for value in seconds]


UNSEEN = Measurement(8_000_000, duration=True, below=True)


@pytest.mark.parametrize(
    ("measurements", "text"),
    [
        ([], "-"),
        ([None, None], "-"),
        ([Measurement(0)], "0 (n = 1)"),
        ([Measurement(3), None, Measurement(3)], "3 (n = 2)"),
        ([Measurement(9), Measurement(0), Measurement(5)], "5 (0 to 9, n = 3)"),
        ([Measurement(0), Measurement(5)], "2.5 (0 to 5, n = 2)"),
        ([Measurement(1), Measurement(5)], "3 (1 to 5, n = 2)"),
        (seen(8.3, 7.1), "7.70 s (7.10 s to 8.30 s, n = 2)"),
        ([UNSEEN], "< 8.00 s (n = 1)"),
        ([*seen(7), UNSEEN], "< 8.00 s (< 8.00 s to 7.00 s, n = 2)"),
        ([*seen(9, 12), UNSEEN], "9.00 s (< 8.00 s to 12.00 s, n = 3)"),
    ],
)
def test_spread_shows_median_least_and_greatest(
    measurements: list[Measurement | None], text: str
) -> None:
    assert spread(measurements) == text


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=9))
def test_spread_of_runs_in_another_order_is_the_same(values: list[int]) -> None:
    measurements = [Measurement(value) for value in values]
    assert spread(measurements) == spread(reversed(measurements))
    assert f"n = {len(values)}" in spread(measurements)


@pytest.mark.parametrize(
    ("values", "text"), [((3, 3), "3"), ((1, 5), "3 (1 to 5)"), ((3, None), "3 (n = 1)")]
)
def test_spread_of_as_many_runs_as_there_are_leaves_n_out(
    values: tuple[int | None, ...], text: str
) -> None:
    found = [None if value is None else Measurement(value) for value in values]
    assert spread(found, runs=2) == text
