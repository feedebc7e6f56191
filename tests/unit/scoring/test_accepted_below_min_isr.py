from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import SECOND, second_event, state, timeline_history

from krt_contract.metadata import Metadata, MetadataMode
from krt_scoring.anomalies.accepted_below_min_isr import doubts, windows
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from krt_contract.timeline import Event

SHRUNK = [state(1, 0, 0, [0, 1], 0), state(16, 0, 0, [0], 1)]
DEPOSED = [state(1, 0, 0, [0, 1], 0), state(16, 0, 1, [1], 1)]
STARTED = second_event(0, "recorder", "started", "recorder")
STOPPED = second_event(70, "recorder", "stopped", "recorder")
SILENT = second_event(
    70,
    "recorder",
    "gap",
    "recorder",
    stream="zookeeper",
    to=70 * SECOND,
    atEnd=True,
    **{"from": 20 * SECOND},
)


def context(*events: Event) -> Any:
    ordered = sorted(events, key=lambda item: item.at)
    return SimpleNamespace(history=timeline_history(ordered, **{"min.insync.replicas": "2"}))


def in_kraft(*events: Event) -> Any:
    found = context(*events)
    facts = found.history.facts
    facts.run = replace(facts.run, metadata=Metadata(MetadataMode.KRAFT, "id"))
    return found


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((STARTED, STOPPED), [(0, 17 * SECOND, FOREVER)]),
        ((STARTED, SILENT, STOPPED), [(0, 17 * SECOND, 20 * SECOND)]),
        ((STARTED,), []),
    ],
)
def test_windows_of_a_short_isr_end_where_the_states_were_read_no_more(
    events: tuple[Event, ...], expected: list[tuple[int, int, int]]
) -> None:
    assert windows(context(*SHRUNK, *events)) == expected


@pytest.mark.parametrize(
    ("elected", "begin"),
    [
        ((), 25),
        ((16,), 25),
        ((25,), 34),
        ((26,), 25),
        ((20, 29), 38),
    ],
)
def test_windows_begin_when_a_new_controller_has_fenced_who_was_deposed(
    elected: tuple[int, ...], begin: int
) -> None:
    controllers = [
        second_event(at, "controller", "elected", "controller", offset=number)
        for number, at in enumerate(elected)
    ]
    found = windows(in_kraft(*DEPOSED, *controllers, STARTED, STOPPED))
    assert found == [(0, begin * SECOND, FOREVER)]


def test_doubts_last_while_a_broker_is_frozen_or_was_just_deposed() -> None:
    frozen = second_event(3, "member", "frozen", "kafka-1", uid="one", member="kafka-1")
    thawed = second_event(5, "member", "thawed", "kafka-1", uid="one", member="kafka-1")
    found = doubts(context(*DEPOSED, frozen, thawed, STARTED, STOPPED))
    assert found == {("foo", 0): ((3 * SECOND, 6 * SECOND), (16 * SECOND, 34 * SECOND))}
