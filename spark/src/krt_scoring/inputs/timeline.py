"""Reading the timeline: what happened around the data.

It grows with events, not with records, so the driver reads all of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from krt_contract.timeline import (
    AT_END,
    METADATA_LOG,
    POLLING,
    PROCESS,
    ZOOKEEPER,
    Event,
    EventName,
    Source,
)
from krt_scoring.inputs.evidence import TIMELINE
from krt_scoring.inputs.reasons import TIMELINE_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

LATE = frozenset({PROCESS, ZOOKEEPER, POLLING})
"""Streams whose silences delay what is seen: it comes all the same, at a time of our clock's."""

BACKLOG_MICROS = 250_000
"""After such a silence, how long what waited may take to be read: the recorder's own beat."""

CLOCK_SLACK = 1_000_000
"""µs by which the clocks of two processes may differ before that counts against a member; clocks
further apart are found by a guard."""

FOREVER = (1 << 62) - 1
"""A time in µs that never came; far above any clock."""

_STATES = frozenset({Source.BROKER, Source.CONTROLLER, Source.PARTITION})
"""Sources of the events that are read from ZooKeeper's nodes, the metadata log or brokers."""

_HISTORIES = frozenset({ZOOKEEPER, METADATA_LOG, POLLING})
"""Streams that the states come from."""

Silence = tuple[str, int, int]
"""Which stream the recorder saw nothing of, from when and until when, UTC µs."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The events of a run in order of time, and what was wrong with their files."""

    events: tuple[Event, ...]
    reasons: tuple[Reason, ...] = field(default=())

    def of(self, source: str, *events: str) -> Iterator[Event]:
        """Yield the events of a source, of the given kinds if any are given."""
        for event in self.events:
            if event.source == source and (not events or event.event in events):
                yield event

    def joined(self, added: Iterable[Event]) -> Timeline:
        """Return the timeline with further events, in order of time."""
        return replace(self, events=tuple(sorted((*self.events, *added), key=_order)))

    def silences(self) -> set[Silence]:
        """Return the gaps that the recorder admits."""
        return {
            (
                str(event.detail.get("stream", "")),
                int(event.detail.get("from", event.at)),
                int(event.detail.get("to", event.at)),
            )
            for event in self.of(Source.RECORDER, EventName.GAP)
        }

    def late(self, at: int) -> bool:
        """Return whether what was noted at a time (UTC µs) may have happened before it."""
        return any(
            start <= at <= end + BACKLOG_MICROS
            for stream, start, end in self.silences()
            if stream in LATE
        )

    def unobserved_from(self) -> int | None:
        """Return from when on no state was read any more; see `unobserved_from`."""
        return unobserved_from(self.events)

    def pod_uids(self, *components: str) -> set[str]:
        """Return the uids of all pods seen of the given components."""
        return {
            str(event.detail.get("uid"))
            for event in self.of(Source.POD)
            if event.detail.get("component") in components and event.detail.get("uid")
        }


def stopped_in_order(events: Sequence[Event]) -> bool:
    """Return whether the last recorder wrote its end, or there was none."""
    started = _times(events, EventName.STARTED)
    return not started or any(at >= started[-1] for at in _times(events, EventName.STOPPED))


def unobserved_from(events: Sequence[Event]) -> int | None:
    """Return from when on (UTC µs) no state was read any more; None if all were.

    ZooKeeper, the controllers or the polled brokers fell silent and the recorder ended before they
    answered again, or the recorder broke off; then only what it had read until then is certain.

    Args:
        events: the timeline, in order of time.
    """
    if not stopped_in_order(events):
        return max((event.at for event in events if event.source in _STATES), default=0)
    started = max(_times(events, EventName.STARTED), default=0)
    silences = [
        int(event.detail["from"])
        for event in events
        if event.source == Source.RECORDER
        and event.event == EventName.GAP
        and event.detail.get("stream") in _HISTORIES
        and event.detail.get(AT_END)
        and event.at >= started
    ]
    return min(silences, default=None)


def _times(events: Sequence[Event], name: EventName) -> list[int]:
    return [event.at for event in events if (event.source, event.event) == (Source.RECORDER, name)]


def read(folder: Path) -> Timeline:
    """Read every ``*.jsonl`` of a bundle's timeline folder.

    What cannot be read is named in ``reasons``: a torn last line is what a killed recorder
    leaves, anything else is damage.
    """
    events: list[Event] = []
    reasons: list[Reason] = []
    paths = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    if not paths:
        message = "no timeline was recorded, so nothing shows when faults acted and who led"
        reasons.append(_damage("FileMissing", TIMELINE, message))
    for path in paths:
        reasons.extend(_read_file(path, events))
    events.sort(key=_order)
    return Timeline(tuple(events), tuple(reasons))


def _damage(code: str, subject: str, message: str) -> Reason:
    scope = Scope(tables=(TIMELINE,))
    return Reason("evidence", code, subject, message, TIMELINE_ANOMALIES, scope)


def _order(event: Event) -> tuple[int, int, int, str]:
    # States of a partition may share a time: those of a batch of the metadata log do, and what is
    # filled in from a member's log may be given the time of the next. Their versions order them.
    epoch, version = (event.detail.get(name) for name in ("leader_epoch", "version"))
    # The text closes ties, so that the order of files decides nothing.
    return event.at, _number(epoch), _number(version), event.line()


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1


def _read_file(path: Path, events: list[Event]) -> Iterator[Reason]:
    name = f"timeline/{path.name}"
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        message = f"cannot be read ({error.strerror})"
        yield _damage("FileUnreadable", name, message)
        return
    last = len(lines) - 1
    for number, line in enumerate(lines):
        if not line:
            continue
        try:
            events.append(_parse(line))
        except (ValueError, KeyError, TypeError):
            if number == last:
                message = "its last line is torn: the recorder was killed while it wrote"
                yield Reason("coverage", "TimelineTorn", name, message)
            else:
                message = f"line {number + 1} is no timeline event"
                yield _damage("FileUnreadable", name, message)


def _parse(line: bytes) -> Event:
    record = json.loads(line)
    detail = record.get("detail") or {}
    if not isinstance(detail, dict):
        raise TypeError("detail is no object")
    return Event(
        at=int(record["at"]),
        mono=int(record["mono"]),
        source=str(record["source"]),
        event=str(record["event"]),
        subject=str(record["subject"]),
        detail=detail,
    )
