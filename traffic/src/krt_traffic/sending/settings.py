"""The producer's client settings: those of the run, those of the resource, and a few defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.fields import Fields
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.settings import MAX_IN_FLIGHT, MESSAGE_TIMEOUT, RETRIES, first_of
from krt_traffic.error_throttle import CLIENT_LOG_LEVEL

if TYPE_CHECKING:
    from krt_contract.clients import ProducerSpec
    from krt_contract.kafka_login import Login
    from krt_contract.plan import Plan

IDEMPOTENT_TIMEOUT_MS = 24 * 3600 * 1000
"""Longer than any run. When a message of an idempotent producer expires, the client renumbers
and may write a retried record twice; so it must not expire."""

QUEUE_KIB = 64 * 1024
"""Share of the pod's 256 MiB the client may fill while brokers are away; the default is 1 GiB."""

IN_FLIGHT_REQUESTS = 5
"""Kafka's own client's default, and librdkafka's with idempotence; its default without (a million)
lets a slow cluster drown: brokers take one request of a connection at a time, and what waits in
flight as small requests cannot be batched any more. Measured: 60 s of latency for good after 10 s
of overload, while the idempotent producer beside it recovered."""

IDEMPOTENT_LINGER_MS = 50
"""Longer than a confirmation takes, and no longer. While five records of a partition are under way
an idempotent client sends no more, and waits for the next that is due (librdkafka 2.16) by asking
again and again: with its default of 5 ms, 500 records a second took two fifths of a core from the
brokers beside it; with 20 ms still a third, with 50 ms a twelfth."""

STATISTICS_MS = 1000
"""How often the client says whether it ever had an answer from a broker."""


def client_settings(
    plan: Plan, producer: ProducerSpec, member: str, login: Login = PLAINTEXT
) -> dict[str, Any]:
    """Return librdkafka's settings for one incarnation.

    Kafka's defaults apply, except what the resource sets and the constants above explain.

    Args:
        plan: the run.
        producer: the entry it plays.
        member: ``<name>-<replica>``.
        login: how it logs in.
    """
    settings: dict[str, Any] = {
        "queue.buffering.max.kbytes": QUEUE_KIB,
        "log_level": CLIENT_LOG_LEVEL,
    }
    if not set(MAX_IN_FLIGHT) & set(producer.config):
        settings["max.in.flight"] = IN_FLIGHT_REQUESTS
    if producer.idempotent:
        if not {"linger.ms", "queue.buffering.max.ms"} & set(producer.config):
            settings["linger.ms"] = IDEMPOTENT_LINGER_MS
        settings[MESSAGE_TIMEOUT] = IDEMPOTENT_TIMEOUT_MS
    if producer.transactions:
        # The client refuses transactions with a message timeout beyond the transaction's own.
        settings.pop(MESSAGE_TIMEOUT, None)
    settings.update(producer.config)
    settings.update(
        {
            "bootstrap.servers": plan.bootstrap,
            **login.client_settings(),
            "client.id": member,
            "acks": str(producer.acks),
            "enable.idempotence": producer.idempotent,
            "compression.type": producer.compression,
            "statistics.interval.ms": STATISTICS_MS,
        }
    )
    if producer.transactions:
        settings["transactional.id"] = f"{_prefix(plan)}{plan.uid}-{member}"
    return settings


def single_attempt(settings: dict[str, Any]) -> bool:
    """Return whether the settings let the client try each message only once."""
    retries = first_of(settings, RETRIES)
    return retries is not None and int(retries) == 0


def _prefix(plan: Plan) -> str:
    """Return how names begin on a cluster that somebody else runs, for which it grants rights."""
    return Fields(plan.resolved_spec, "spec").child("kafkaRef").text("prefix", "")
