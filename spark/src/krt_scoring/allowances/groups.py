"""What a consumer group's settings say about when a member may still be taken for an owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.settings import GROUP_SESSION, GROUP_SESSION_DEFAULT_MS

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_scoring.history.facts import Group

HEARTBEAT_DEFAULT = 3_000
"""librdkafka 2.x heartbeat.interval.ms, in ms."""

MAX_POLL_DEFAULT = 300_000
"""librdkafka 2.x max.poll.interval.ms, in ms."""


def _largest(run: Plan, group: Group, key: str, default: int) -> int:
    members = [consumer for consumer in run.consumers if consumer.group == group.name]
    return max([int(item.config.get(key, default)) for item in members] or [default])


def session(run: Plan, group: Group) -> int:
    """Return the group's session timeout, in µs."""
    return _largest(run, group, GROUP_SESSION, GROUP_SESSION_DEFAULT_MS) * 1000


def heartbeat(run: Plan, group: Group) -> int:
    """Return the group's heartbeat interval, in µs."""
    return _largest(run, group, "heartbeat.interval.ms", HEARTBEAT_DEFAULT) * 1000


def handover(run: Plan, group: Group) -> int:
    """Return for how long after a new owner's assignment the old one may go on, in µs.

    max(session timeout, 2 heartbeats): by then a live member has heard of the rebalance and a
    dead one has been thrown out.
    """
    return max(session(run, group), 2 * heartbeat(run, group))


def patience(run: Plan, group: Group) -> int:
    """Return within what time an event explains a rebalance: session + max.poll interval, µs."""
    poll = _largest(run, group, "max.poll.interval.ms", MAX_POLL_DEFAULT)
    return session(run, group) + poll * 1000
