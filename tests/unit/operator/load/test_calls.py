"""The load that a run puts on the API server is bounded."""

from __future__ import annotations

import pytest
from tests.unit.operator.disturbed.memoized import memoized
from tests.unit.operator.disturbed.scenarios import BY_NAME
from tests.unit.operator.load.calls import count_calls

MINUTE = 700
"""Calls in the busiest minute: two passes a second with six reads each, and what is created."""


@pytest.mark.parametrize("name", ["no fault", "crash", "freeze", "rolling restart"])
def test_run_makes_a_bounded_number_of_calls(name: str) -> None:
    with memoized():
        calls = count_calls(BY_NAME[name])
    assert calls.most <= MINUTE
    assert calls.total / calls.passes < 15
