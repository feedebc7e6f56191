"""The table of transitions is what the documentation draws, and leads forward only."""

from __future__ import annotations

import re
from pathlib import Path

from krt_operator.api.status import Phase
from krt_operator.engine.transitions import TRANSITIONS, allowed

DRAWING = Path(__file__).resolve().parents[4] / "docs" / "images" / "phases.svg"
"""Each arrow has the phases that it connects as its id."""


def test_transitions_match_the_documentation() -> None:
    drawn = set(re.findall(r' id="(\w+)-(\w+)"', DRAWING.read_text(encoding="utf-8")))
    table = {(one.value, to.value) for one, after in TRANSITIONS.items() for to in after}
    assert drawn == table


def test_transitions_cover_every_phase_and_never_go_back() -> None:
    assert set(TRANSITIONS) == set(Phase)
    order = list(Phase)
    for before, after in TRANSITIONS.items():
        assert all(order.index(before) < order.index(one) for one in after)
        assert bool(after) is not before.terminal


def test_transitions_to_a_terminal_phase_start_from_cleaning_up() -> None:
    assert not allowed(Phase.SCORING, Phase.COMPLETED)
    assert not allowed(Phase.PROVISIONING, Phase.ERROR)
