"""Where a group may show consequences of a cut, to the offset and the microsecond."""

from __future__ import annotations

import pytest
from tests.unit.scoring.builders import election

from krt_scoring.allowances.consequences import Span, spans_of
from krt_scoring.allowances.group_positions import Reached, Reset
from krt_scoring.allowances.truncations import Truncation
from krt_scoring.inputs.timeline import FOREVER

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


TP, GROUP = 3, 1


def cut(offset: int = CUT, at: int = ELECTED) -> Truncation:
    return Truncation(election(at=at), TP, offset, "unclean-election", latest=at)


@pytest.mark.parametrize(
    ("offset", "position", "gone", "last"),
    [
        # Nothing of the group lay above the cut.
        (CUT, CUT, None, None),
        (CUT, CUT + 1, None, CUT),
        (CUT, None, None, None),
        (0, None, None, None),
        (0, 0, None, None),
        # Its position says more than what it was delivered, or less.
        (CUT, CUT + 2, CUT + 1, CUT + 1),
        (CUT, CUT, CUT + 4, CUT + 3),
        (CUT, None, CUT + 1, CUT),
        (CUT, None, CUT, None),
    ],
)
def test_spans_of_a_group_reach_from_the_cut_to_below_its_position(
    offset: int, position: int | None, gone: int | None, last: int | None
) -> None:
    reached = {} if position is None else {(GROUP, TP, ELECTED): Reached(position)}
    delivered = {} if gone is None else {(GROUP, TP): gone}
    found = spans_of([cut(offset)], [0, GROUP], reached, delivered)
    expected = Span(offset, last, "after-unclean-election", ELECTED) if last is not None else None
    assert found == ({(GROUP, TP): [expected]} if expected else {})


def test_spans_of_two_cuts_are_two_with_what_the_group_did_after_each() -> None:
    resets = (reset(7),)
    reached = {
        (GROUP, TP, ELECTED): Reached(CUT + 2, resets, RECOMMITTED),
        (GROUP, TP, 300): Reached(CUT + 4),
    }
    found = spans_of([cut(), cut(CUT + 1, 300)], [GROUP], reached, {})
    rule = "after-unclean-election"
    assert found == {
        (GROUP, TP): [
            Span(CUT, CUT + 1, rule, ELECTED, resets, RECOMMITTED),
            Span(CUT + 1, CUT + 3, rule, 300, (), FOREVER),
        ]
    }
