from __future__ import annotations

import json
import resource
from typing import TYPE_CHECKING

import pytest

from krt_contract.timeline import SOURCES, Event, EventName, Source, TimelineWriter

if TYPE_CHECKING:
    from pathlib import Path


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


def test_writer_on_a_volume_that_takes_a_part_of_a_line_leaves_none_of_it(tmp_path: Path) -> None:
    event = Event(1, 2, Source.POD, EventName.READY, "p")
    writer = TimelineWriter(tmp_path, "s")
    writer.write(event)
    # The kernel then takes five more bytes and refuses the rest, as a volume that fills up does.
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(event.line()) + 5, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            writer.write(event)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.write(event)
    writer.close()
    assert (tmp_path / "s.jsonl").read_text() == event.line() * 2
