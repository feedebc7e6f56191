"""Rebalances, from who owned which partition."""

from __future__ import annotations

from tests.unit.scoring.builders import SECOND

from krt_scoring.history.intervals import Interval
from krt_scoring.inputs.timeline import FOREVER
from krt_scoring.metrics.rebalances import Rebalance, rebalances


def owned(
    tp: int, who: str, begin: float, end: float | None = None, generation: int | None = None
) -> Interval:
    return Interval(
        number=hash((tp, begin)),
        group=0,
        tp=tp,
        consumer=who,
        incarnation=who,
        first_seq=0,
        last_seq=1,
        begin=round(begin * SECOND),
        end=FOREVER if end is None else round(end * SECOND),
        start=None,
        generation=generation,
    )


def test_rebalances_without_generations_are_bursts_of_assignments() -> None:
    found = rebalances(
        [owned(0, "a", 1, 9), owned(1, "b", 1.2), owned(0, "b", 11.5)], groups=["readers"]
    )
    assert found == [
        Rebalance("readers", SECOND, 1_200_000, partitions=2, members=2),
        Rebalance("readers", 9 * SECOND, 11_500_000, partitions=1, members=1),
    ]


def test_rebalances_with_generations_follow_them_however_slowly_members_are_told() -> None:
    found = rebalances(
        [
            owned(0, "a", 1, 5, generation=1),
            owned(1, "b", 4, 5, generation=1),
            owned(0, "a", 5.1, generation=2),
        ],
        groups=["readers"],
    )
    assert [(item.begin, item.end, item.members) for item in found] == [
        (SECOND, 4 * SECOND, 2),
        (5 * SECOND, 5_100_000, 1),
    ]


def test_rebalances_of_an_owner_that_gave_nothing_up_begin_with_the_assignment() -> None:
    (_, second) = rebalances([owned(0, "a", 1), owned(0, "b", 7)], groups=["readers"])
    assert (second.begin, second.end) == (7 * SECOND, 7 * SECOND)
