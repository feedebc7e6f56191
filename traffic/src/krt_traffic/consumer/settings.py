"""The consumer's client settings: those of the run, and those of the resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.clients import Commit
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.settings import uses_consumer_protocol
from krt_traffic.error_throttle import CLIENT_LOG_LEVEL

if TYPE_CHECKING:
    from krt_contract.clients import ConsumerSpec
    from krt_contract.kafka_login import Login
    from krt_contract.plan import Plan

PREFETCH_KIB = 16 * 1024
"""Share of the pod's 256 MiB for records fetched ahead; the client's default is 64 MiB."""


def client_settings(
    plan: Plan, consumer: ConsumerSpec, member: str, login: Login = PLAINTEXT
) -> dict[str, Any]:
    """Return librdkafka's settings for one incarnation.

    Session timeout, assignor and fetch settings stay the client's unless the resource sets them.

    Args:
        plan: the run.
        consumer: the entry it plays.
        member: ``<name>-<replica>``.
        login: how it logs in.
    """
    settings: dict[str, Any] = {
        "queued.max.messages.kbytes": PREFETCH_KIB,
        "log_level": CLIENT_LOG_LEVEL,
    }
    settings.update(consumer.config)
    settings.update(
        {
            "bootstrap.servers": plan.bootstrap,
            **login.client_settings(),
            "client.id": member,
            "group.id": consumer.group,
            "isolation.level": str(consumer.isolation),
            "enable.auto.commit": consumer.commit is Commit.AUTO,
            # Offsets may be stored only when the rows of the records before them are durable.
            "enable.auto.offset.store": False,
            # The client's own reset leaves no trace; lost_positions.py records where to and why.
            "auto.offset.reset": "error",
            # Only the end of the partition shows that transaction markers were passed.
            "enable.partition.eof": True,
        }
    )
    if consumer.static_membership:
        settings["group.instance.id"] = member
    return settings


def cooperative(settings: dict[str, Any]) -> bool:
    """Return whether partitions move one by one rather than all at once.

    With the group protocol of KIP-848 they always do, whatever the assignor of the brokers is.
    """
    if uses_consumer_protocol(settings):
        return True
    return "cooperative" in str(settings.get("partition.assignment.strategy", ""))
