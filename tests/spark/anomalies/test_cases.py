from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.spark.anomalies.expectations import deviations
from tests.spark.anomalies.histories import by_groups
from tests.spark.anomalies.language import Case

from krt_scoring.history.groups import MAX_GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable


def test_detect_of_a_case_finds_what_it_expects_and_nothing_else(
    case: Any, outcome_of: Callable[[Any], Any]
) -> None:
    outcome = outcome_of(case)
    assert not deviations(case, outcome), outcome.rows


def test_by_groups_of_more_groups_than_a_run_may_have_divides_the_cases_in_order() -> None:
    shared = [Case(f"shared-{number}").parse("group g") for number in range(3)]
    own = [Case(f"own-{number}").parse("group g own=1") for number in range(MAX_GROUPS)]
    first, second = by_groups([*shared, *own])
    assert [*first, *second] == [*shared, *own]
    assert second == own[-1:]
