"""Which member leads ZooKeeper, asked of every member once a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.timeline import EventName, Source
from krt_contract.zookeeper import LEADING_MODES, parse_mode, send_four_letter_word
from krt_traffic.recorder.periodic import Periodic

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline

INTERVAL_SECONDS = 1.0
STOP_SECONDS = 5.0
"""How long the end waits for the members' answers."""

SILENT = "silent"
"""It gave no answer in time: frozen, or only slow."""
WITHOUT = "without"
"""It cannot be reached, or answers that it serves no requests: it knows no quorum."""


class Quorum:
    """Asks with the four-letter word ``srvr`` in a thread of its own.

    Args:
        members: member name → host:port.
        timeline: where events go.
        failures: starts the thread.
        context: of TLS; None for servers in plaintext.
    """

    def __init__(
        self,
        members: dict[str, str],
        timeline: Timeline,
        failures: Failures,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._members, self._timeline, self._context = members, timeline, context
        self._leader = ""
        self._periodic = Periodic(self._look, INTERVAL_SECONDS, "quorum", failures)

    def start(self) -> None:
        """Begin; returns at once."""
        self._periodic.start()

    def stop(self) -> None:
        """End."""
        self._periodic.stop(STOP_SECONDS)

    def _look(self) -> None:
        modes = {name: mode(address, self._context) for name, address in self._members.items()}
        leader = leader_of(modes)
        if leader is None or leader == self._leader:
            return
        if leader:
            self._timeline.write(Source.ZOOKEEPER, EventName.LEADER, leader)
        else:
            self._timeline.write(Source.ZOOKEEPER, EventName.QUORUM_LOST, self._leader)
        self._leader = leader


def leader_of(modes: Mapping[str, str]) -> str | None:
    """Return the leader, "" where the quorum is certainly lost, None where neither is certain.

    Lost needs a majority of members without a quorum and no member that follows a leader. A
    member that is merely slow proves nothing.
    """
    for name, reported in modes.items():
        if reported in LEADING_MODES:
            return name
    without = sum(reported == WITHOUT for reported in modes.values())
    following = any(reported not in {WITHOUT, SILENT} for reported in modes.values())
    return "" if not following and 2 * without > len(modes) else None


def mode(address: str, context: ssl.SSLContext | None = None) -> str:
    """Return the mode a member reports (leader, follower, standalone), or WITHOUT or SILENT."""
    try:
        answer = send_four_letter_word(address, "srvr", context)
    except TimeoutError:
        return SILENT
    except OSError:
        return WITHOUT
    return parse_mode(answer) or WITHOUT
