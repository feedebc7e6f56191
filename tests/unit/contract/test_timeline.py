from __future__ import annotations

import json

from krt_contract.timeline import SOURCES, Event, EventName, Source


def test_every_source_and_every_event_name_is_in_the_table() -> None:
    assert set(SOURCES) == set(Source)
    assert {name for names in SOURCES.values() for name in names} == set(EventName)


def test_event_line_holds_plain_words() -> None:
    event = Event(1, 2, Source.POD, EventName.NOT_READY, "p", {"why": EventName.EXITED})
    assert json.loads(event.line()) == {
        "at": 1,
        "mono": 2,
        "source": "pod",
        "event": "notready",
        "subject": "p",
        "detail": {"why": "exited"},
    }
