"""How far groups had come when a log was cut, to the microsecond and the member's own order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.anomalies.histories import history_of_cases
from tests.spark.anomalies.language import SECOND, Case

from krt_scoring.allowances import group_positions
from krt_scoring.allowances.group_positions import Reached
from krt_scoring.history import facts
from krt_scoring.inputs.timeline import CLOCK_SLACK, FOREVER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

CUT_AT, SECOND_CUT_AT = 20, 40
"""When partitions 0 and 1 were cut, in seconds; a clock may be a second ahead or behind."""

POSITIONS = {
    "got c1 0@7 p/1#0 at=9": 8,
    "assigned c1 0@7 at=9": 7,
    "committed c1 0@7 at=9": 7,
    "seek c1 0@7 at=9": 7,
    # Neither was handed out, nor was any of this partition.
    "got c1 0@7 p/1#0 outcome=failed at=9": 3,
    "got c1 1@7 p/1#0 at=9": 3,
    # By the clock of the member, which may be ahead.
    "committed c1 0@7 at=21": 7,
    "committed c1 0@7 at=21.000001": 3,
    # An event without an offset says nothing.
    "revoked c1 0 at=9": 3,
}
"""What a member did that had begun at offset 3, and how far it had come then."""

COMMITS = {
    "": FOREVER,
    "committed c1 0@9 at=40": 40 * SECOND,
    "committed c1 0@9 at=40\ncommitted c1 0@10 at=41": 40 * SECOND,
    # Of a member that was not reset.
    "committed c2 0@9 at=40": FOREVER,
    "got c1 0@9 p/1#0 at=40": FOREVER,
}
"""What members did after one of them was reset, and when the first commit since then was."""

LATER = "assigned c1 0@3 at=30"
ELSEWHERE = "assigned c1 1@3 at=1"
ONE_RESET = """
assigned c1 0@3 at=1
got c1 0@7 p/1#0 at=30
reset c1 0@90 at=31
got c1 0@90 p/1#0 at=32
got c2 0@80 p/1#0 at=30
"""
MANY_RESETS = """
assigned c1 0@3 at=1
reset c1 0@4 at=18.999999
reset c1 0@5 at=19
reset c1 0@6 at=33
reset c2 0@7 at=40
reset c3 1@8 at=41
assigned h.c4 0@2 at=1
reset h.c4 0@9 at=42
"""
TEXTS = [
    *(f"assigned c1 0@3 at=1\n{line}" for line in POSITIONS),
    *(
        f"committed c1 0@3 at=1\nreset c1 0@5 at=30\nassigned c2 0@5 at=31\n{commits}"
        for commits in COMMITS
    ),
    *(LATER, ELSEWHERE, ONE_RESET, MANY_RESETS),
]

Found = dict[str, Reached]
"""Group → how far it had come on partition 0."""


@pytest.fixture(scope="module")
def reached(spark: SparkSession) -> list[Found]:
    """How far the groups of each text had come: all of them as topics of one history."""
    cases = [Case(f"t{number:02}").parse(text) for number, text in enumerate(TEXTS)]
    tables = history_of_cases(spark, cases)
    known = facts.collect(tables)
    history: Any = SimpleNamespace(spark=spark, tables=tables, facts=known)
    first = [known.positions.tp(case.name, 0) for case in cases]
    cuts = [
        cut for tp in first for cut in ((tp, CUT_AT * SECOND), (tp + 1, SECOND_CUT_AT * SECOND))
    ]
    found = group_positions.collect(history, cuts, CLOCK_SLACK)
    names = {group.index: group.name for group in known.groups}
    return [
        {names[group]: item for (group, of, _), item in sorted(found.items()) if of == tp}
        for tp in first
    ]


def resets(item: Reached) -> list[tuple[str, int]]:
    """Return the member and the target of each reset."""
    return [(reset.incarnation.split("-")[2], reset.target) for reset in item.resets]


def test_collect_finds_the_highest_position_until_the_cut(reached: list[Found]) -> None:
    found = dict(zip(POSITIONS, reached, strict=False))
    assert found == {line: {"g": Reached(position)} for line, position in POSITIONS.items()}


def test_collect_finds_the_first_commit_after_a_members_reset(reached: list[Found]) -> None:
    found = dict(zip(COMMITS, reached[len(POSITIONS) :], strict=False))
    recommitted = {commits: item["g"].recommitted for commits, item in found.items()}
    assert recommitted == COMMITS


def of(reached: list[Found]) -> Mapping[str, Found]:
    """Return what was found of each text."""
    return dict(zip(TEXTS, reached, strict=True))


def test_collect_of_a_group_that_came_later_has_no_position(reached: list[Found]) -> None:
    assert of(reached)[LATER] == {"g": Reached()}
    assert of(reached)[ELSEWHERE] == {}


def test_collect_goes_on_until_a_members_own_reset(reached: list[Found]) -> None:
    found = of(reached)[ONE_RESET]["g"]
    assert found.position == 8
    assert resets(found) == [("c1", 90)]


def test_collect_takes_each_members_first_reset_since_the_cut(reached: list[Found]) -> None:
    found = of(reached)[MANY_RESETS]
    assert {name: resets(item) for name, item in found.items()} == {
        "g": [("c1", 5), ("c2", 7)],
        "h": [("c4", 9)],
    }
    assert [item.position for item in found.values()] == [3, 2]
