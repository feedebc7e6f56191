"""The table of transitions is what the documentation draws, and leads forward only."""

from __future__ import annotations

import re
from pathlib import Path

from krt_operator.api.status import Phase
from krt_operator.engine.transitions import TRANSITIONS, allowed

PAGE = Path(__file__).resolve().parents[4] / "docs" / "concepts" / "controller.md"


def test_documentation_draws_the_table() -> None:
    drawn = set(re.findall(r"^  (\w+) --> (\w+)$", PAGE.read_text(), re.MULTILINE))
    table = {(one.value, to.value) for one, after in TRANSITIONS.items() for to in after}
    assert drawn == table


def test_every_phase_is_in_the_table_and_no_way_leads_back() -> None:
    assert set(TRANSITIONS) == set(Phase)
    order = list(Phase)
    for before, after in TRANSITIONS.items():
        assert all(order.index(before) < order.index(one) for one in after)
        assert bool(after) is not before.terminal


def test_a_run_cannot_skip_cleaning_up() -> None:
    assert not allowed(Phase.SCORING, Phase.COMPLETED)
    assert not allowed(Phase.PROVISIONING, Phase.ERROR)
