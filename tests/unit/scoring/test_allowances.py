"""The records are looked at for cuts only where there may be something to excuse."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import state, timeline_history

from krt_scoring.allowances import allowances, consequences, truncations

if TYPE_CHECKING:
    from krt_contract.timeline import Event

UNCLEAN = {"unclean.leader.election.enable": "true"}
OUTSIDE_ISR = [state(1, 0, 0, [0], 0), state(16, 0, 1, [1], 1)]
CUT, SPAN = "a cut", "a span"


@pytest.mark.parametrize(
    ("gone", "events", "cuts", "spans"),
    [
        ((), [], (), {}),
        # Every record lies at its place, but an election may have cut aborted records and markers.
        ((), OUTSIDE_ISR, (CUT,), {SPAN}),
        # Something is gone that no election permits: cuts still tell where records can have lain.
        *[((name,), [], (CUT,), {}) for name in ("missing", "vanished", "misplaced")],
        (("missing", "vanished"), OUTSIDE_ISR, (CUT,), {SPAN}),
    ],
)
def test_derive_looks_for_cuts_where_records_are_gone_or_an_election_permits_it(
    monkeypatch: pytest.MonkeyPatch,
    gone: tuple[str, ...],
    events: list[Event],
    cuts: tuple[str, ...],
    spans: Any,
) -> None:
    history = timeline_history(events, **UNCLEAN)
    totals = {name: int(name in gone) for name in ("missing", "vanished", "misplaced")}
    history.records = SimpleNamespace(totals=totals)
    monkeypatch.setattr(truncations, "derive", lambda _: (CUT,))
    monkeypatch.setattr(consequences, "derive", lambda *_: {SPAN})
    found: Any = allowances.derive(history)
    assert (found.truncations, found.consequences) == (cuts, spans)
