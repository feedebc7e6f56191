"""Admin requests sent to the cluster while a fault acts, with their answers."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from krt_contract.faults import AdminAnswer, AdminRequest
from krt_contract.timeline import EventName, Source
from krt_traffic.clock import mono, wall

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from krt_contract.kafka_login import Login
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline

log = logging.getLogger(__name__)

SETTLE_SECONDS = 3.0
"""From a fault's injection to its requests: the effect has begun, the revert has not."""

ANSWER_SECONDS = 15.0
"""How long an answer is waited for. A broker that cannot reach ZooKeeper never gives one."""

STALE_MICROS = 10_000_000
"""An injection that is reported later than this is history that a new recorder reads again."""

TIMEOUTS = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001 - librdkafka's own codes have no public name
        KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError.REQUEST_TIMED_OUT,
    }
)
"""No broker answered in time."""

NO_ERROR = "NO_ERROR"


class AdminRequests:
    """Sends each fault's admin requests once, in threads of their own.

    Args:
        bootstrap: the brokers.
        requests: fault → its requests.
        topic: an existing topic, whose settings are requested.
        replicas: replication factor of the topic that is to be created.
        timeline: where answers go.
        login: how the brokers are logged in to.
        failures: starts the threads.
    """

    def __init__(  # noqa: PLR0913 (what is asked of whom, and the recorder's two services)
        self,
        bootstrap: str,
        requests: Mapping[str, Sequence[AdminRequest]],
        topic: str,
        replicas: int,
        timeline: Timeline,
        *,
        login: Login,
        failures: Failures,
    ) -> None:
        self._settings = {"bootstrap.servers": bootstrap, **login.client_settings()}
        self._requests, self._timeline = requests, timeline
        self._failures = failures
        self._topic, self._replicas = topic, replicas

    def injected(self, fault: str, at: int) -> None:
        """Take that a fault was injected, ``at`` in UTC microseconds; never blocks."""
        if wall() - at > STALE_MICROS:
            return
        for request in self._requests.get(fault, ()):
            send = partial(self._send, fault, request)
            self._failures.timer(SETTLE_SECONDS, send, f"admin request {fault}").start()

    def _send(self, fault: str, request: AdminRequest) -> None:
        began, at = mono(), wall()
        client = AdminClient({**self._settings, "client.id": "admin-request"})
        call = {
            AdminRequest.CREATE_TOPIC: lambda: create_topic(
                client, f"krt-admin-request-{fault}", self._replicas
            ),
            AdminRequest.DESCRIBE_CONFIGS: lambda: describe_configs(client, self._topic),
            AdminRequest.LIST_TOPICS: lambda: list_topics(client),
        }[request]
        answer, error = answer_of(call)
        detail = {
            "request": str(request),
            "answer": str(answer),
            "error": error,
            "took": mono() - began,
        }
        self._timeline.write(Source.ADMIN_REQUEST, EventName.ANSWERED, fault, detail, at=at)


def answer_of(call: Callable[[], object]) -> tuple[AdminAnswer, str]:
    """Return what a request got (Answered, TimedOut or Refused) and the client's error."""
    try:
        call()
    except KafkaException as exception:
        error = exception.args[0]
        log.info("admin request: %s", error)
        timed_out = error.code() in TIMEOUTS
        return (AdminAnswer.TIMED_OUT if timed_out else AdminAnswer.REFUSED), error.name()
    return AdminAnswer.ANSWERED, NO_ERROR


def create_topic(client: AdminClient, name: str, replicas: int) -> None:
    """Have the controller create a topic of one partition."""
    topics = [NewTopic(name, num_partitions=1, replication_factor=replicas)]
    for future in client.create_topics(
        topics, operation_timeout=ANSWER_SECONDS, request_timeout=ANSWER_SECONDS
    ).values():
        future.result()


def describe_configs(client: AdminClient, topic: str) -> None:
    """Ask a broker for a topic's settings."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    for future in client.describe_configs([resource], request_timeout=ANSWER_SECONDS).values():
        future.result()


def list_topics(client: AdminClient) -> None:
    """Ask a broker for all topics with their partitions' leaders and replicas."""
    client.list_topics(timeout=ANSWER_SECONDS)
