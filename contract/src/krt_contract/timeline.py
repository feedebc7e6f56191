"""The timeline: what happened around the data, as JSON lines.

Each line is ``{"at", "mono", "source", "event", "subject", "detail"}``: ``at`` in UTC
microseconds (the event's own time where it has one), ``mono`` the recorder's monotonic clock in
microseconds when the line was written, ``detail`` an object. SOURCES lists who speaks and which
events it has.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from krt_contract.sinks.lines import line_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from krt_contract.sinks.sink import LineFolder


class Source(StrEnum):
    """Who speaks."""

    RECORDER = "recorder"
    PHASE = "phase"
    FAULT = "fault"
    GUARD = "guard"
    """An inconclusive reason of the controller; its events are the reasons' own codes."""
    POD = "pod"
    MEMBER = "member"
    BROKER = "broker"
    CONTROLLER = "controller"
    """Kafka's controller."""
    PARTITION = "partition"
    ZOOKEEPER = "zookeeper"
    ADMIN_REQUEST = "admin-request"


class EventName(StrEnum):
    """What happened; which source has which is in `SOURCES`."""

    STARTED = "started"
    STOPPED = "stopped"
    GAP = "gap"
    ENTERED = "entered"
    INJECTED = "injected"
    REVERTED = "reverted"
    RECOVERED = "recovered"
    SKIPPED = "skipped"
    OBSERVED = "observed"
    ADDED = "added"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    READY = "ready"
    NOT_READY = "notready"
    TERMINATING = "terminating"
    EXITED = "exited"
    DELETED = "deleted"
    KILLED = "killed"
    HELD_DOWN = "held-down"
    RELEASED = "released"
    FROZEN = "frozen"
    THAWED = "thawed"
    REGISTERED = "registered"
    UNREGISTERED = "unregistered"
    FENCED = "fenced"
    UNFENCED = "unfenced"
    SHUTTING_DOWN = "shutting-down"
    """A broker asked the KRaft controller for a controlled shutdown."""
    ELECTED = "elected"
    VACANT = "vacant"
    STATE = "state"
    SEQUENCE_REFUSED = "sequence-refused"
    LEADER = "leader"
    QUORUM_LOST = "quorum-lost"
    ANSWERED = "answered"


SOURCES: Final[Mapping[Source, tuple[EventName, ...]]] = MappingProxyType(
    {
        Source.RECORDER: (EventName.STARTED, EventName.STOPPED, EventName.GAP),
        Source.PHASE: (EventName.ENTERED,),
        Source.FAULT: (
            EventName.INJECTED,
            EventName.REVERTED,
            EventName.RECOVERED,
            EventName.SKIPPED,
            EventName.OBSERVED,
        ),
        Source.GUARD: (),
        Source.POD: (
            EventName.ADDED,
            EventName.SCHEDULED,
            EventName.RUNNING,
            EventName.READY,
            EventName.NOT_READY,
            EventName.TERMINATING,
            EventName.EXITED,
            EventName.DELETED,
        ),
        Source.MEMBER: (
            EventName.STARTED,
            EventName.KILLED,
            EventName.EXITED,
            EventName.HELD_DOWN,
            EventName.RELEASED,
            EventName.FROZEN,
            EventName.THAWED,
        ),
        Source.BROKER: (
            EventName.REGISTERED,
            EventName.UNREGISTERED,
            EventName.FENCED,
            EventName.UNFENCED,
            EventName.SHUTTING_DOWN,
        ),
        Source.CONTROLLER: (EventName.ELECTED, EventName.VACANT, EventName.QUORUM_LOST),
        Source.PARTITION: (EventName.STATE, EventName.SEQUENCE_REFUSED),
        Source.ZOOKEEPER: (EventName.LEADER, EventName.QUORUM_LOST),
        Source.ADMIN_REQUEST: (EventName.ANSWERED,),
    }
)
"""Source → its events."""

ZOOKEEPER = "zookeeper"
"""Stream of a ``recorder gap``: no answer from ZooKeeper; its watches fire afterwards."""

METADATA_LOG = "metadata-log"
"""Stream of a ``recorder gap``: the end of the KRaft metadata log was not read."""

POLLING = "polling"
"""Stream of a ``recorder gap``: no broker answered a poll; what changed is seen afterwards."""

AT_END = "atEnd"
"""In the detail of a ``recorder gap``: true where the silence lasted until the recorder ended, so
what happened in it was not read afterwards."""

EVIDENCE = "evidence"
"""Stream of a ``recorder gap``: the evidence store was unavailable to a pod of the run. Nothing is
missing of what it wrote, but it wrote, and committed, late."""

PROCESS = "process"
"""Stream of a ``recorder gap``: the recorder's process did not run; it reads on afterwards."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the timeline."""

    at: int
    mono: int
    source: str
    event: str
    subject: str
    detail: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """Return the event as one line of JSON, newline included."""
        return (
            json.dumps(
                {
                    "at": self.at,
                    "detail": self.detail,
                    "event": self.event,
                    "mono": self.mono,
                    "source": self.source,
                    "subject": self.subject,
                },
                sort_keys=True,
                separators=(",", ":"),
            )
            + "\n"
        )


class TimelineWriter:
    """Appends events of one stream to ``timeline/<stream>.jsonl``, a line at a time.

    Args:
        folder: the bundle's timeline folder, or a path to where it is.
        stream: name of the stream.
    """

    def __init__(self, folder: LineFolder | Path, stream: str) -> None:
        self._lines = line_folder(folder).open(f"{stream}.jsonl")

    def write(self, event: Event) -> None:
        """Append one event.

        Raises:
            OSError: the volume refused the line or a part of it; nothing of it is in the file.
        """
        self._lines.write(event.line().encode("utf-8"))

    def sync(self) -> None:
        """Make everything durable.

        Raises:
            OSError: the volume lost lines that it had taken.
        """
        self._lines.sync()

    def close(self) -> None:
        """Make everything durable and close the file; errors as of ``sync``."""
        self._lines.close()
