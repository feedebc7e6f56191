"""Who leads ZooKeeper, asked of every member once a second."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krt_traffic.recorder.timeline import Timeline

INTERVAL_SECONDS = 1.0
TIMEOUT_SECONDS = 0.5
"""A member of the same cluster answers within milliseconds, or it is not serving."""

LEADING = frozenset({"leader", "standalone"})


class Quorum:
    """Asks with the four-letter word ``srvr`` in a thread of its own.

    Args:
        members: member name → host:port.
        timeline: where events go.
    """

    def __init__(self, members: dict[str, str], timeline: Timeline) -> None:
        self._members, self._timeline = members, timeline
        self._leader = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="quorum", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL_SECONDS):
            leader = next(
                (name for name, address in self._members.items() if mode(address) in LEADING), ""
            )
            if leader == self._leader:
                continue
            if leader:
                self._timeline.write("zookeeper", "leader", leader)
            else:
                self._timeline.write("zookeeper", "quorum-lost", self._leader)
            self._leader = leader


def mode(address: str) -> str:
    """Return what a member says it is (leader, follower, standalone), "" where it says nothing."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), TIMEOUT_SECONDS) as connection:
            connection.sendall(b"srvr")
            answer = b""
            while part := connection.recv(4096):
                answer += part
    except OSError:
        return ""
    return parse_mode(answer.decode("utf-8", "replace"))


def parse_mode(answer: str) -> str:
    """Return the mode in an answer to ``srvr``; a member without a quorum names none."""
    for line in answer.splitlines():
        if line.startswith("Mode: "):
            return line.removeprefix("Mode: ").strip()
    return ""
