"""Settings of Kafka and of its clients that more than one package reads, with Kafka's defaults.

Defaults are those of Kafka 3.9 and of librdkafka 2.x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
MIN_INSYNC_REPLICAS_DEFAULT: Final = 1

UNCLEAN_ELECTION: Final = "unclean.leader.election.enable"

OFFSETS_PARTITIONS: Final = "offsets.topic.num.partitions"
TRANSACTIONS_PARTITIONS: Final = "transaction.state.log.num.partitions"
INTERNAL_PARTITIONS_DEFAULT: Final = 50
"""Partitions of __consumer_offsets and of __transaction_state."""

ZOOKEEPER_SESSION: Final = "zookeeper.session.timeout.ms"
ZOOKEEPER_SESSION_DEFAULT_MS: Final = 18_000

BROKER_SESSION: Final = "broker.session.timeout.ms"
"""How long a KRaft controller waits for a heartbeat before it fences a broker. The controllers act
on it; brokers only report it."""
BROKER_SESSION_DEFAULT_MS: Final = 9_000

GROUP_SESSION: Final = "session.timeout.ms"
GROUP_SESSION_DEFAULT_MS: Final = 45_000
"""librdkafka's default, and the one of Kafka's own consumer since 3.0."""

GROUP_PROTOCOL: Final = "group.protocol"
CONSUMER_PROTOCOL: Final = "consumer"
"""Consumer: the group protocol of KIP-848, in which brokers assign partitions one by one, and set
session timeout and heartbeat interval of all groups. Otherwise the protocol is ``classic``."""
GROUP_CONSUMER_SESSION: Final = "group.consumer.session.timeout.ms"
GROUP_CONSUMER_SESSION_DEFAULT_MS: Final = 45_000
GROUP_CONSUMER_HEARTBEAT: Final = "group.consumer.heartbeat.interval.ms"
GROUP_CONSUMER_HEARTBEAT_DEFAULT_MS: Final = 5_000

CLIENT_RACK: Final = "client.rack"
"""Consumer: the rack whose replicas it prefers to read."""

MAX_IN_FLIGHT: Final = ("max.in.flight.requests.per.connection", "max.in.flight")
"""Producer: requests on their way on one connection; librdkafka takes both names."""
MAX_IN_FLIGHT_IDEMPOTENT: Final = 5
"""The most that an idempotent producer may have."""

MESSAGE_TIMEOUT: Final = "message.timeout.ms"
RETRIES: Final = ("message.send.max.retries", "retries")
"""Producer: how often a batch is sent again; librdkafka takes both names."""


def uses_consumer_protocol(settings: Mapping[str, Any]) -> bool:
    """Return whether a consumer with these settings uses the group protocol of KIP-848."""
    return str(settings.get(GROUP_PROTOCOL, "")).lower() == CONSUMER_PROTOCOL


def first_of(settings: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the value of a setting that has several names; None where none is set."""
    return next((settings[name] for name in names if name in settings), None)
