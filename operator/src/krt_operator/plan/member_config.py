"""Settings of the members that differ from their defaults, whatever their addresses are. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_contract.settings import (
    BROKER_SESSION,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    ZOOKEEPER_SESSION,
    ZOOKEEPER_SESSION_DEFAULT_MS,
)
from krt_operator.constants import (
    INTERNAL_REPLICAS,
    TICK_MILLIS,
    TICK_SETTING,
    ZOOKEEPER_CONNECT_MILLIS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_operator.api.spec import Spec

ACTED_ON_BY_CONTROLLERS: Final[tuple[str, ...]] = (
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    BROKER_SESSION,
    "auto.leader.rebalance.enable",
    "leader.imbalance.check.interval.seconds",
    "leader.imbalance.per.broker.percentage",
    "unclean.leader.election.interval.ms",
)
"""Broker settings that KRaft controllers act on, by their own value of it: they fence brokers and
elect leaders, and write the cluster's min.insync.replicas when they start for the first time."""

WHOLE_LOG: Final[Mapping[str, str]] = {"metadata.log.max.snapshot.interval.ms": "0"}
"""No snapshot of the metadata log by age. With one, the log is not served from its start (see
`krt_operator.api.reserved.METADATA_LOG`); a snapshot by size comes after 20 MB, which are days."""


CLEANER_BUFFER_BYTES: Final = 16 << 20
"""Bytes of heap that the log cleaner takes at the start and keeps. Kafka's 128 MiB are a third of a
broker's heap; brokers that led every partition alone ran out of the rest. 16 MiB hold 700 000 keys
a pass, and only the internal topics are compacted, which have some hundred."""


def broker_config(spec: Spec) -> dict[str, str]:
    """Settings of every broker that differ from Kafka's defaults, the user's last.

    The internal topics are kept safe whatever the settings of the test are: a lost offset commit
    would otherwise look like a redelivery that the configuration under test caused.
    """
    replicas = min(INTERNAL_REPLICAS, spec.kafka.replicas)
    in_sync = max(1, replicas - 1)
    ours = {
        "auto.create.topics.enable": "false",
        "log.cleaner.dedupe.buffer.size": str(CLEANER_BUFFER_BYTES),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
    }
    if spec.kraft:
        return {**ours, **spec.kafka.config, **WHOLE_LOG}
    connect = {"zookeeper.connection.timeout.ms": str(ZOOKEEPER_CONNECT_MILLIS)}
    return {**ours, **connect, **spec.kafka.config}


def controller_config(spec: Spec) -> dict[str, str]:
    """Settings of every KRaft controller that differ from Kafka's defaults.

    The settings of the brokers that a controller acts on are the same on both: a broker reports its
    own value, whatever the controllers do.
    """
    brokers = spec.kafka.config
    shared = {name: brokers[name] for name in ACTED_ON_BY_CONTROLLERS if name in brokers}
    return {**spec.ensemble.config, **shared, **WHOLE_LOG}


def zookeeper_config(spec: Spec) -> dict[str, str]:
    """Settings of every ZooKeeper server beyond those that form the quorum, the user's last."""
    ours = {
        TICK_SETTING: str(TICK_MILLIS),
        **_session_bounds(spec),
        "initLimit": "10",
        "syncLimit": "5",
        "autopurge.purgeInterval": "0",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "srvr,ruok,mntr",
    }
    return {**ours, **spec.ensemble.config}


def _session_bounds(spec: Spec) -> dict[str, str]:
    """Session bounds that include the session timeout the brokers request.

    ZooKeeper silently clamps a request to its bounds, 2 and 20 ticks by default.
    """
    requested = int(spec.kafka.config.get(ZOOKEEPER_SESSION, ZOOKEEPER_SESSION_DEFAULT_MS))
    tick = int(spec.ensemble.config.get(TICK_SETTING, TICK_MILLIS))
    if requested < 2 * tick:
        return {"minSessionTimeout": str(requested)}
    if requested > 20 * tick:
        return {"maxSessionTimeout": str(requested)}
    return {}
