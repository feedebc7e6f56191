"""The timeline: what happened around the data, as JSON lines.

Each line is ``{"at", "mono", "source", "event", "subject", "detail"}``: ``at`` in UTC
microseconds (the event's own time where it has one), ``mono`` the recorder's monotonic clock in
microseconds when the line was written, ``detail`` an object. SOURCES lists who speaks and which
events it has.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract.bundle import make_directory

if TYPE_CHECKING:
    from pathlib import Path

SOURCES: dict[str, tuple[str, ...]] = {
    "recorder": ("started", "stopped", "gap"),
    "phase": ("entered",),
    "fault": ("injected", "reverted", "recovered", "skipped", "observed"),
    "guard": (),
    "pod": (
        "added",
        "scheduled",
        "running",
        "ready",
        "notready",
        "terminating",
        "exited",
        "deleted",
    ),
    "member": ("started", "killed", "exited", "held-down", "released", "frozen", "thawed"),
    "broker": ("registered", "unregistered"),
    "controller": ("elected", "vacant"),
    "partition": ("state", "sequence-refused"),
    "zookeeper": ("leader", "quorum-lost"),
    "admin-request": ("answered",),
}
"""Source → its events. The events of ``guard`` are the guards' own codes."""

ZOOKEEPER = "zookeeper"
"""Stream of a ``recorder gap``: no answer from ZooKeeper; its watches fire afterwards."""

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

    A line is written in one call and flushed to the volume, so a killed recorder leaves at most
    one torn last line, which readers report rather than skip in silence.
    """

    def __init__(self, folder: Path, stream: str) -> None:
        make_directory(folder)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._descriptor = os.open(folder / f"{stream}.jsonl", flags, 0o664)

    def write(self, event: Event) -> None:
        """Append one event."""
        os.write(self._descriptor, event.line().encode("utf-8"))

    def close(self) -> None:
        """Make everything durable and close the file."""
        os.fsync(self._descriptor)
        os.close(self._descriptor)
