"""The settings of clients that rules depend on, with the clients' own defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.settings import (
    GROUP_CONSUMER_HEARTBEAT,
    GROUP_CONSUMER_HEARTBEAT_DEFAULT_MS,
    GROUP_CONSUMER_SESSION,
    GROUP_CONSUMER_SESSION_DEFAULT_MS,
    GROUP_SESSION,
    GROUP_SESSION_DEFAULT_MS,
    MAX_IN_FLIGHT,
    MAX_IN_FLIGHT_IDEMPOTENT,
    RETRIES,
    first_of,
    uses_consumer_protocol,
)

if TYPE_CHECKING:
    from krt_contract.plan import Plan

IN_FLIGHT_DEFAULT = 1_000_000
"""librdkafka 2.x ``max.in.flight.requests.per.connection``; 5 with idempotence."""

HEARTBEAT_DEFAULT = 3_000
"""librdkafka 2.x heartbeat.interval.ms, in ms."""

MAX_POLL_DEFAULT = 300_000
"""librdkafka 2.x max.poll.interval.ms, in ms."""


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """The settings of a producer that rules depend on.

    Attributes:
        acks: ``all``, ``1`` or ``0``.
        idempotent: also true of transactional producers.
        retries: whether the client sends again by itself.
        in_flight: requests in flight on a connection.
    """

    acks: str
    idempotent: bool
    retries: bool
    in_flight: int


STRICT = ProducerSettings(acks="all", idempotent=True, retries=False, in_flight=1)
"""Settings of a producer that the plan does not name: they permit nothing."""


def producer_settings(run: Plan, identity: str) -> ProducerSettings:
    """Return the settings of the producer an identity of the evidence belongs to."""
    info = run.writer(identity)
    if info is None:
        return STRICT
    config = info.config
    retries = first_of(config, RETRIES)
    idempotent = info.idempotent or info.transactional
    default = MAX_IN_FLIGHT_IDEMPOTENT if idempotent else IN_FLIGHT_DEFAULT
    in_flight = first_of(config, MAX_IN_FLIGHT)
    return ProducerSettings(
        acks=str(info.acks),
        idempotent=idempotent,
        retries=retries is None or int(retries) > 0,
        in_flight=int(in_flight) if in_flight is not None else default,
    )


def _largest(run: Plan, group: str, key: str, default: int) -> int:
    members = [consumer for consumer in run.consumers if consumer.group == group]
    return max([int(item.config.get(key, default)) for item in members] or [default])


def _of_group(run: Plan, group: str, own: tuple[str, int], of_brokers: tuple[str, int]) -> int:
    """Return a time of a group, in µs, which with the protocol of KIP-848 its brokers set.

    Args:
        run: the plan.
        group: the group.
        own: the consumers' setting, and its default in ms.
        of_brokers: the brokers' setting, and its default in ms.
    """
    if any(uses_consumer_protocol(item.config) for item in run.consumers if item.group == group):
        return int(run.broker_config.get(*of_brokers)) * 1000
    return _largest(run, group, *own) * 1000


def session_timeout(run: Plan, group: str) -> int:
    """Return a group's session timeout, in µs."""
    own = GROUP_SESSION, GROUP_SESSION_DEFAULT_MS
    of_brokers = GROUP_CONSUMER_SESSION, GROUP_CONSUMER_SESSION_DEFAULT_MS
    return _of_group(run, group, own, of_brokers)


def heartbeat_interval(run: Plan, group: str) -> int:
    """Return a group's heartbeat interval, in µs."""
    own = "heartbeat.interval.ms", HEARTBEAT_DEFAULT
    of_brokers = GROUP_CONSUMER_HEARTBEAT, GROUP_CONSUMER_HEARTBEAT_DEFAULT_MS
    return _of_group(run, group, own, of_brokers)


def handover_time(run: Plan, group: str) -> int:
    """Return for how long after a new owner's assignment the previous one may go on, in µs.

    max(session timeout, 2 heartbeats): by then a live member has heard of the rebalance, and the
    session of a dead one has expired.
    """
    return max(session_timeout(run, group), 2 * heartbeat_interval(run, group))


def rebalance_window(run: Plan, group: str) -> int:
    """Return within what time an event explains a rebalance: session + max.poll interval, µs."""
    poll = _largest(run, group, "max.poll.interval.ms", MAX_POLL_DEFAULT)
    return session_timeout(run, group) + poll * 1000
