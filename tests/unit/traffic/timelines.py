"""Reading timelines that a test has written."""

from __future__ import annotations

import errno
import json
import time
from typing import TYPE_CHECKING, Any

from krt_contract.timeline import TimelineWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from krt_contract.timeline import Event

T0 = "2026-11-21T04:03:19Z"
T0_MICROS = 1_795_233_799_000_000


def recorded(folder: Path) -> list[dict[str, Any]]:
    """Return the events of all timeline streams of a folder."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def refuse_once(monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    """Let the volume refuse the next event of this name, and take everything after it."""
    write, refusals = TimelineWriter.write, [OSError(errno.ENOSPC, "No space left on device")]

    def refusing(writer: TimelineWriter, item: Event) -> None:
        if item.event == event and refusals:
            raise refusals.pop()
        write(writer, item)

    monkeypatch.setattr(TimelineWriter, "write", refusing)


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until a condition holds that another thread brings about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.01)
