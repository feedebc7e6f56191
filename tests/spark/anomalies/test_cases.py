from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_history_shows_what_it_shows_and_nothing_else(
    case: Any, outcome_of: Callable[[Any], Any]
) -> None:
    outcome = outcome_of(case)
    assert outcome.findings == case.expected, outcome.rows
    if case.fates is not None:
        assert outcome.fates == case.fates
