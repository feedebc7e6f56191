"""Where a group may show consequences of a cut, to the offset and the microsecond."""

from __future__ import annotations

import pytest

from krt_scoring.allowances.consequences import Span
from krt_scoring.allowances.group_positions import Reset

CUT, LAST = 5, 9
ELECTED, RECOMMITTED = 100, 200


def reset(target: int, incarnation: str = "c1") -> Reset:
    return Reset(group=0, tp=0, incarnation=incarnation, event_seq=1, at=120, target=target)


def span(*resets: Reset, recommitted: int = RECOMMITTED) -> Span:
    return Span(CUT, LAST, "after-unclean-election", ELECTED, resets, recommitted)


@pytest.mark.parametrize(
    ("committed", "start", "begin", "expected"),
    [
        # From the first commit above the cut to one above the last offset the group had.
        (CUT, CUT, 150, False),
        (CUT + 1, CUT, 150, True),
        (LAST + 1, CUT, 150, True),
        (LAST + 2, CUT, 150, False),
        # From the election until the group committed again.
        (LAST, CUT, ELECTED - 1, False),
        (LAST, CUT, ELECTED, True),
        (LAST, CUT, RECOMMITTED, True),
        (LAST, CUT, RECOMMITTED + 1, False),
        # From where the log was cut.
        (LAST, CUT - 1, 150, False),
        (LAST, CUT + 1, 150, True),
    ],
)
def test_permits_rewind_begins_and_ends_where_the_cut_shows(
    committed: int, start: int, begin: int, expected: bool
) -> None:
    assert span().permits_rewind(committed, start, begin) is expected


@pytest.mark.parametrize(
    ("targets", "passed"), [([], LAST), ([7], 6), ([8, 7], 6), ([LAST + 4], LAST)]
)
def test_passed_is_below_the_lowest_reset(targets: list[int], passed: int) -> None:
    resets = (reset(target, f"c{number}") for number, target in enumerate(targets))
    assert span(*resets).passed == passed
