from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.operator.doubles.plans import sample_plan

from krt_operator.health.begin_offsets import from_begin
from krt_operator.kafka.views import Bounds

PLAN = sample_plan()
FOO, *OTHERS = PLAN.topics
ADOPTED = replace(PLAN, topics=(replace(FOO, begin={0: 40}), *OTHERS))


def bounds(log_start: int, high_watermark: int) -> Bounds:
    return Bounds("foo", 0, 7, log_start, high_watermark, high_watermark, 0, 0, (0, 1, 2))


@pytest.mark.parametrize(
    ("log_start", "end", "start"),
    [(0, 90, 40), (50, 90, 50), (0, 40, 40), (0, 30, 30)],
    ids=["older records", "begin has expired", "nothing written", "cut below the begin"],
)
def test_bounds_of_an_adopted_topic_start_where_the_test_began(
    log_start: int, end: int, start: int
) -> None:
    (found,) = from_begin(ADOPTED, [bounds(log_start, end)])
    assert found == bounds(start, end)


def test_bounds_of_a_topic_of_the_test_are_as_they_were_read() -> None:
    assert from_begin(PLAN, [bounds(3, 90)]) == [bounds(3, 90)]
