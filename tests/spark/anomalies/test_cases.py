from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.spark.anomalies.histories import deviations

if TYPE_CHECKING:
    from collections.abc import Callable


def test_detect_of_a_case_finds_what_it_expects_and_nothing_else(
    case: Any, outcome_of: Callable[[Any], Any]
) -> None:
    outcome = outcome_of(case)
    assert not deviations(case, outcome), outcome.rows
