"""How long a broker that is silent counts as alive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.durations import Duration
from krt_contract.metadata import MetadataMode
from krt_contract.timeline import EventName, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krt_contract.plan import Plan
    from krt_contract.timeline import Event

BROKER_SESSION = "broker.session.timeout.ms"
"""A setting of the KRaft controllers."""
BROKER_SESSION_DEFAULT_MS = 9_000
"""Kafka's default."""


def session_of(run: Plan) -> Duration:
    """Return how long ZooKeeper keeps a session, or KRaft's controllers wait for a heartbeat."""
    if run.metadata.mode is not MetadataMode.KRAFT:
        return run.zookeeper_session
    for config in (run.controller_config, run.broker_config):
        if BROKER_SESSION in config:
            return Duration(int(config[BROKER_SESSION]) * 1000)
    return Duration(BROKER_SESSION_DEFAULT_MS * 1000)


def controller_elections(timeline: Iterable[Event]) -> tuple[int, ...]:
    """Return when a KRaft controller was elected, in UTC µs; with ZooKeeper none.

    Sessions outlive a controller of a ZooKeeper cluster: ZooKeeper keeps them.
    """
    return tuple(
        event.at
        for event in timeline
        if (event.source, event.event) == (Source.CONTROLLER, EventName.ELECTED)
        and "offset" in event.detail
    )


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
