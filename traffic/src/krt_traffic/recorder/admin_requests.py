"""Questions asked of the cluster while a fault acts, with what they got."""

from __future__ import annotations

import logging
import threading
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

    from krt_traffic.recorder.timeline import Timeline

log = logging.getLogger(__name__)

SETTLE_SECONDS = 3.0
"""From a fault's injection to the questions: its effect is there, its revert is not."""

ANSWER_SECONDS = 15.0
"""How long an answer is waited for. A broker that cannot reach ZooKeeper never gives one."""

STALE_MICROS = 10_000_000
"""An injection that is told of later than this is history that a new recorder reads again."""

TIMEOUTS = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001 - librdkafka's own codes have no public name
        KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError.REQUEST_TIMED_OUT,
    }
)
"""Nobody said anything in time."""

NO_ERROR = "NO_ERROR"


class AdminRequests:
    """Asks each fault's questions once, in threads of their own.

    Args:
        bootstrap: the brokers.
        wanted: fault → its questions.
        topic: a topic there is, to ask for its settings.
        replicas: replication factor of the topic that is asked for.
        timeline: where answers go.
    """

    def __init__(
        self,
        bootstrap: str,
        wanted: Mapping[str, Sequence[AdminRequest]],
        topic: str,
        replicas: int,
        timeline: Timeline,
    ) -> None:
        self._bootstrap, self._wanted, self._timeline = bootstrap, wanted, timeline
        self._topic, self._replicas = topic, replicas

    def injected(self, fault: str, at: int) -> None:
        """Take that a fault was injected, ``at`` in UTC microseconds; never blocks."""
        if wall() - at > STALE_MICROS:
            return
        for probe in self._wanted.get(fault, ()):
            timer = threading.Timer(SETTLE_SECONDS, self._ask, (fault, probe))
            timer.daemon = True
            timer.start()

    def _ask(self, fault: str, probe: AdminRequest) -> None:
        began, at = mono(), wall()
        client = AdminClient({"bootstrap.servers": self._bootstrap, "client.id": "probe"})
        question = {
            AdminRequest.CREATE_TOPIC: lambda: create_topic(
                client, f"krt-admin-request-{fault}", self._replicas
            ),
            AdminRequest.DESCRIBE_CONFIGS: lambda: describe_configs(client, self._topic),
            AdminRequest.LIST_TOPICS: lambda: list_topics(client),
        }[probe]
        answer, error = ask(question)
        detail = {
            "request": str(probe),
            "answer": str(answer),
            "error": error,
            "took": mono() - began,
        }
        self._timeline.write(Source.ADMIN_REQUEST, EventName.ANSWERED, fault, detail, at=at)


def ask(question: Callable[[], object]) -> tuple[AdminAnswer, str]:
    """Return what a question got (Answered, TimedOut or Refused) and the client's error."""
    try:
        question()
    except KafkaException as exception:
        error = exception.args[0]
        log.info("probe: %s", error)
        return (
            AdminAnswer.TIMED_OUT if error.code() in TIMEOUTS else AdminAnswer.REFUSED
        ), error.name()
    return AdminAnswer.ANSWERED, NO_ERROR


def create_topic(client: AdminClient, name: str, replicas: int) -> None:
    """Ask the controller for a topic of one partition."""
    wanted = [NewTopic(name, num_partitions=1, replication_factor=replicas)]
    for future in client.create_topics(
        wanted, operation_timeout=ANSWER_SECONDS, request_timeout=ANSWER_SECONDS
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
