"""The recorder's own stream of the timeline, shared by its threads."""

from __future__ import annotations

import json
import threading
from datetime import datetime
from typing import TYPE_CHECKING, Any

from krt_contract.sinks.lines import line_folder
from krt_contract.timeline import AT_END, Event, EventName, Source, TimelineWriter
from krt_traffic.clock import both, wall
from krt_traffic.recorder.failures import writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from krt_contract.sinks.sink import LineFolder

GAP_MICROS = 1_000_000
"""A gap of a second makes events within it uncertain; shorter ones are below what is measured."""

TAIL_BYTES = 65_536
"""How much of an earlier recorder's stream is read for its last line."""


class Timeline:
    """Writes events under a lock; counts them for the termination message.

    Args:
        folder: the bundle's timeline folder, or a path to where it is.
        incarnation: pod uid; a recorder that was replaced leaves its own stream beside this one.

    Attributes:
        counts: events and gaps written.
        observers: called with each event that was written, one at a time.
    """

    def __init__(self, folder: LineFolder | Path, incarnation: str) -> None:
        self.counts = {"events": 0, "gaps": 0}
        self.observers: list[Callable[[Event], None]] = []
        self._lock = threading.Lock()
        self._closed = False
        stream = f"recorder-{incarnation}"
        self._name = f"timeline/{stream}.jsonl"
        texts = line_folder(folder)
        with writing(self._name):
            earlier = _last_time(texts)
            self._writer = TimelineWriter(texts, stream)
        if earlier is not None:
            self.gap("recorder", earlier, wall())

    def write(
        self,
        source: str,
        event: str,
        subject: str,
        detail: dict[str, Any] | None = None,
        at: int | None = None,
    ) -> None:
        """Append an event.

        Args:
            source: one of ``krt_contract.timeline.SOURCES``.
            event: one of the source's events.
            subject: the pod, fault, broker or partition it is about.
            detail: its further fields.
            at: the event's own time in UTC microseconds; now where it has none.

        Raises:
            RecordingError: the event could not be written.
        """
        wall_time, now = both()
        line = Event(wall_time if at is None else at, now, source, event, subject, detail or {})
        with self._lock, writing(self._name):
            if not self._closed:
                self._writer.write(line)
                self.counts["events"] += 1
                for observer in self.observers:
                    observer(line)

    def gap(self, stream: str, start: int, end: int, *, at_end: bool = False) -> None:
        """Record that ``stream`` saw nothing from ``start`` to ``end``, if that is long enough.

        Args:
            stream: what was silent.
            start: the last time it was heard, UTC microseconds.
            end: when it was heard again, or when the recorder ended.
            at_end: whether it was silent until the recorder ended.

        Raises:
            RecordingError: the event could not be written.
        """
        if end - start > GAP_MICROS:
            detail: dict[str, Any] = {"from": start, "to": end, "stream": stream}
            if at_end:
                detail[AT_END] = True
            self.write(Source.RECORDER, EventName.GAP, "recorder", detail)
            self.counts["gaps"] += 1

    def sync(self) -> None:
        """Make what was written durable.

        Raises:
            RecordingError: the volume lost events that it had taken.
        """
        with self._lock, writing(self._name):
            self._writer.sync()

    def close(self) -> None:
        """Make everything durable; later events are dropped. Errors as of ``sync``."""
        with self._lock, writing(self._name):
            if not self._closed:
                self._closed = True
                self._writer.close()


def micros(time: str) -> int:
    """Return an RFC 3339 time of the Kubernetes API as UTC microseconds.

    Raises:
        ValueError: the text is not such a time.
    """
    moment = datetime.fromisoformat(time)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def _last_time(folder: LineFolder) -> int | None:
    times = []
    for name in folder.names():
        if not (name.startswith("recorder-") and name.endswith(".jsonl")):
            continue
        tail, _ = folder.tail(name, TAIL_BYTES)
        lines = tail.split(b"\n")[:-1]
        if lines:
            try:
                times.append(int(json.loads(lines[-1])["at"]))
            except ValueError:  # the tail began inside a single long line
                continue
    return max(times, default=None)
