"""What restarts the session of a broker that is silent; its length is in the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.metadata import HistorySource
from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krt_contract.timeline import Event


def controller_elections(timeline: Iterable[Event]) -> tuple[int, ...]:
    """Return when a KRaft controller was elected, in UTC µs; with ZooKeeper none.

    Sessions outlive a controller of a ZooKeeper cluster: ZooKeeper keeps them.
    """
    return tuple(
        event.at
        for event in timeline
        if (event.source, event.event) == (Source.CONTROLLER, EventName.ELECTED)
        and ("offset" in event.detail or _polled_quorum(event))
    )


def _polled_quorum(event: Event) -> bool:
    """Whether it is of a quorum that was polled; a controller with ZooKeeper has no epoch then."""
    return event.detail.get("from") == HistorySource.POLLING and "epoch" in event.detail


def lasts_until(at: int, session: int, restarts: Sequence[int]) -> int:
    """Return until when a session that began at a time may last (UTC µs).

    Args:
        at: when it began, UTC µs.
        session: its length, µs.
        restarts: when a KRaft controller was elected, in order: it gives every broker a new one.
    """
    end = at + session
    for restart in restarts:
        if at < restart <= end:
            end = restart + session
    return end
