"""Between which places a group's deliveries went back."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krt_scoring.history import rewinds
from krt_scoring.history.extents import Extent

if TYPE_CHECKING:
    from krt_scoring.history.rewinds import Span


def extent(
    interval: int | None, low: int | None, high: int | None, group: int = 0, tp: int = 0
) -> Extent:
    return Extent(interval, group, tp, 0, low, high)


CASES: dict[str, tuple[list[Extent], list[Span]]] = {
    "forward only": ([extent(0, 0, 9), extent(1, 10, 19)], []),
    "the same record again": ([extent(0, 0, 9), extent(1, 9, 19)], []),
    "back to what was not committed": ([extent(0, 0, 9), extent(1, 6, 19)], [(0, 0, 6, 9)]),
    "behind an earlier one": (
        [extent(0, 0, 30), extent(1, 31, 33), extent(2, 20, 40)],
        [(0, 0, 20, 33)],
    ),
    "nothing was delivered": (
        [extent(0, 0, 9), extent(1, None, None), extent(2, 8, 9)],
        [(0, 0, 8, 9)],
    ),
    "another lane": ([extent(0, 5, 9), extent(1, 0, 3, tp=1), extent(2, 0, 3, group=1)], []),
    "owned by nobody comes first": ([extent(None, 0, 9), extent(0, 5, 12)], [(0, 0, 5, 9)]),
}


@pytest.mark.parametrize(("extents", "expected"), CASES.values(), ids=CASES)
def test_between_extents_yields_the_ranges_gone_back_over(
    extents: list[Extent], expected: list[Span]
) -> None:
    assert list(rewinds.between(extents)) == expected


def test_within_moved_or_unowned_extents_yields_them_completely() -> None:
    extents = [extent(None, 0, 9), extent(0, 5, 12), extent(1, 3, 20), extent(2, None, None)]
    assert list(rewinds.within(extents, {1, 2})) == [(0, 0, 0, 9), (0, 0, 3, 20)]


DELIVERIES = st.lists(
    st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True).map(sorted),
    min_size=1,
    max_size=5,
)
"""What each of several ownerships delivered, forward."""


@given(DELIVERIES, st.integers(1, 3))
def test_between_positions_outside_have_no_inversions(owned: list[list[int]], keys: int) -> None:
    """Inversions of a key, adjacent deliveries of it, are the same without the places outside."""
    extents = [extent(n, positions[0], positions[-1]) for n, positions in enumerate(owned)]
    spans = list(rewinds.between(extents))
    positions_in_order = [position for positions in owned for position in positions]
    first = list(dict.fromkeys(positions_in_order))
    near = [p for p in first if any(low <= p <= high for *_, low, high in spans)]
    assert _inversions(near, keys) == _inversions(first, keys)


def _inversions(positions: list[int], keys: int) -> list[tuple[int, int]]:
    found = []
    for key in range(keys):
        its = [position for position in positions if position % keys == key]
        found += [(a, b) for a, b in pairwise(its) if b < a]
    return found
