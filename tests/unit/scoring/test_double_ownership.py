"""Which of two ownerships is the newer one."""

from __future__ import annotations

import pytest

from krt_scoring.anomalies.double_ownership import in_order
from krt_scoring.history.intervals import Interval
from krt_scoring.inputs.timeline import FOREVER


def interval(incarnation: str, begin: int, end: int, generation: int | None) -> Interval:
    return Interval(
        number=0,
        group=0,
        tp=0,
        consumer="c",
        incarnation=incarnation,
        first_seq=0,
        last_seq=FOREVER,
        begin=begin,
        end=end,
        start=0,
        generation=generation,
    )


@pytest.mark.parametrize(
    ("first", "second", "older"),
    [
        ((FOREVER, None), (FOREVER, None), "a"),
        ((FOREVER, 3), (FOREVER, None), "a"),
        ((FOREVER, 3), (FOREVER, 4), "a"),
        ((FOREVER, 3), (FOREVER, 3), "a"),
        # A member that stood still heard of generation 3 when another had got generation 4.
        ((FOREVER, 4), (FOREVER, 3), "b"),
        # The group's state was lost: generations count from 1 again, and nothing overlaps.
        ((15, 9), (FOREVER, 1), "a"),
        ((20, 9), (FOREVER, 1), "a"),
        ((21, 9), (FOREVER, 1), "b"),
    ],
)
def test_in_order_follows_generations_of_ownerships_that_overlap(
    first: tuple[int, int | None], second: tuple[int, int | None], older: str
) -> None:
    pair = in_order(interval("a", 10, *first), interval("b", 20, *second))
    assert pair[0].incarnation == older
    assert {item.incarnation for item in pair} == {"a", "b"}
