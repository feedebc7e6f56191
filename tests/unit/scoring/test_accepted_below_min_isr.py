from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import SECOND, second_event, state, timeline_history

from krt_scoring.anomalies.accepted_below_min_isr import windows
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from krt_contract.timeline import Event

SHORT = [state(1, 0, 0, [0, 1], 0), state(16, 0, 1, [1], 1)]
STARTED = second_event(0, "recorder", "started", "recorder")
STOPPED = second_event(70, "recorder", "stopped", "recorder")
SILENT = second_event(
    70,
    "recorder",
    "gap",
    "recorder",
    stream="zookeeper",
    to=70,
    atEnd=True,
    **{"from": 20 * SECOND},
)


def context(*events: Event) -> Any:
    ordered = sorted(events, key=lambda item: item.at)
    return SimpleNamespace(history=timeline_history(ordered, **{"min.insync.replicas": "2"}))


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ((STARTED, STOPPED), FOREVER),
        ((STARTED, SILENT, STOPPED), 20 * SECOND),
        ((STARTED,), 16 * SECOND),
    ],
)
def test_windows_of_a_short_isr_end_where_the_states_were_read_no_more(
    events: tuple[Event, ...], end: int
) -> None:
    assert windows(context(*SHORT, *events)) == [(0, 16 * SECOND, end)]
