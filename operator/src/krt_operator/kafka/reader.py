"""What the port `Kafka` reads of a real cluster; every call of its client has a timeout."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from confluent_kafka import IsolationLevel as Isolation
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.admin import OffsetSpec as _Spec  # type: ignore[attr-defined]

from krt_contract.kafka_connection import TIMEOUT_SECONDS
from krt_contract.kafka_connector import connector
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.kafka_refusal import ALERT, Refusal, brief, find_refusal
from krt_operator.api.times import to_micros
from krt_operator.constants import CLIENT_ID
from krt_operator.engine.clock import SystemClock
from krt_operator.errors import TransientError
from krt_operator.kafka.conversions import to_addresses, to_partitions
from krt_operator.kafka.errors import REFUSALS, Need, translate
from krt_operator.kafka.groups import Coordinators
from krt_operator.kafka.topic_metadata import led_partitions
from krt_operator.kafka.views import Bounds, Broker, ClusterView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from confluent_kafka import KafkaError

    from krt_contract.kafka_connector import Connect
    from krt_contract.kafka_login import Login
    from krt_operator.errors import KrtError
    from krt_operator.kafka.views import GroupView

CLIENT_SECONDS: Final = 5.0
"""How long all requests of one client may take together. A broker answers within 10 ms, and a pass
that waits longer than this would delay the next fault towards the 10 s after which it is late."""

MIN_REQUEST_SECONDS: Final = 0.5
"""The least timeout of a request, even the last one: librdkafka refuses a timeout of 0."""

GRACE_SECONDS: Final = 1.0
"""How much longer than the client's own timeout its future is waited for."""

CLOSE_SECONDS: Final = 2.0
"""How long the end of a client is waited for. It takes milliseconds; librdkafka was seen to wait
for ever for an answer of a broker that died meanwhile (2.16.0)."""

LOGGED: Final = 2
"""Only what librdkafka calls critical, as a level of syslog. Below it are connections that a broker
refuses: a fault that keeps brokers down would fill the controller's log with them, and the error of
a request names them."""

MILLI: Final = 1000
"""Microseconds in a millisecond, the unit of Kafka's timestamps."""

EARLIEST: Final[Any] = _Spec.earliest()  # type: ignore[no-untyped-call]
LATEST: Final[Any] = _Spec.latest()  # type: ignore[no-untyped-call]

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")


class KafkaReader:
    """The requests that change nothing, to the cluster behind a bootstrap string.

    Every method raises TransientError where no broker answers or the cluster is failing over,
    UserError where Kafka refuses what the resource says, and KafkaDefectError otherwise.
    """

    def __init__(self, bootstrap: str, login: Login = PLAINTEXT) -> None:
        self._bootstrap, self._login = bootstrap, login
        self._errors: list[tuple[str, str]] = []
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "client.id": CLIENT_ID,
            "socket.timeout.ms": int(CLIENT_SECONDS * 1000),
            "socket.connection.setup.timeout.ms": 2000,
            "reconnect.backoff.max.ms": 500,
            "log_level": LOGGED,
            "error_cb": self._note,
            **login.client_settings(),
        }
        self._client = AdminClient(settings, logger=_LOG)
        self._deadline = time.monotonic() + CLIENT_SECONDS

    def __enter__(self) -> Self:
        """The client itself, connected lazily."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Drop the client, which closes its connections; one that does not end is left behind."""
        held = [self._client]
        del self._client
        # The last reference goes in a thread of its own: a pass that waited for ever would hold
        # its test, and nobody would look at its deadline any more.
        closing = threading.Thread(target=held.clear, name="kafka-client-end", daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
        if closing.is_alive():
            _LOG.warning(
                "a client of %s did not end within %g s and is left behind with its threads",
                self._bootstrap,
                CLOSE_SECONDS,
            )

    def refusal(self) -> Refusal | None:
        """Why the cluster lets no client in, after a request that nobody answered; None: unknown.

        It may take seconds: the listeners are connected to.
        """
        return find_refusal(self._errors, self._bootstrap, self._login)

    def view(self) -> ClusterView:
        """Brokers, controller, partitions (internal topics included), as any broker knows them."""
        metadata = self._metadata("reading the cluster's metadata")
        return ClusterView(
            brokers=tuple(Broker(one, node.host) for one, node in sorted(metadata.brokers.items())),
            controller=metadata.controller_id,
            partitions=to_partitions(metadata),
        )

    def led_partitions(self, topics: Sequence[str]) -> dict[int, frozenset[tuple[str, int]]]:
        """Broker id to the partitions of these topics that it knows a leader of."""
        addresses = to_addresses(self._metadata("reading the brokers' own metadata"))
        return led_partitions(addresses, topics, self._connector(), self._deadline)

    def racks(self) -> dict[int, str]:
        """Broker id to the rack it reports, empty where it reports none.

        librdkafka asks the cluster's controller, which may be unavailable while a fault is active.
        """
        doing = "reading the brokers' racks"
        cluster = self._wait(
            self._client.describe_cluster(request_timeout=self._remaining()), doing
        )
        return {node.id: node.rack or "" for node in cluster.nodes}

    def broker_config(self, broker: int) -> dict[str, str | None]:
        """Every setting of a broker; empty where it has no value, None where it hides the value.

        It hides passwords, and settings whose type it does not know.
        """
        return {
            name: None if entry.is_sensitive else entry.value or ""
            for name, entry in self._broker_entries(broker).items()
        }

    def changed_broker_config(self, broker: int) -> dict[str, str]:
        """Settings of a broker that are not Kafka's defaults, without those that it hides."""
        return {
            name: entry.value or ""
            for name, entry in self._broker_entries(broker).items()
            if not entry.is_default and not entry.is_sensitive
        }

    def topic_configs(self, topics: Sequence[str]) -> dict[str, dict[str, str]]:
        """Topic to every setting that is effective for it; empty where it has no value."""
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
        futures = self._client.describe_configs(resources, request_timeout=self._remaining())
        return {
            resource.name: {
                name: entry.value or ""
                for name, entry in self._wait(
                    future,
                    f"reading the settings of topic {resource.name}",
                    need=Need("DescribeConfigs", f"Topic {resource.name}"),
                ).items()
            }
            for resource, future in futures.items()
        }

    def bounds(self, topics: Sequence[str]) -> list[Bounds]:
        """The bounds of every partition of these topics, ordered by topic and partition.

        `last_stable` comes from a read_committed request: the client's watermark call returns the
        high watermark even where an open transaction holds readers back.
        """
        partitions = to_partitions(self._metadata("reading partitions"))
        by_key = {(partition.topic, partition.partition): partition for partition in partitions}
        keys = sorted(key for key in by_key if key[0] in set(topics))
        missing = sorted(set(topics) - {topic for topic, _ in keys})
        if missing:
            raise TransientError(f"Kafka does not know topic {missing[0]} (yet)")
        start = self._offsets(keys, EARLIEST, Isolation.READ_UNCOMMITTED)
        high = self._offsets(keys, LATEST, Isolation.READ_UNCOMMITTED)
        stable = self._offsets(keys, LATEST, Isolation.READ_COMMITTED)
        taken_at = to_micros(SystemClock().now())
        return [
            Bounds(
                topic=key[0],
                partition=key[1],
                taken_at=taken_at,
                log_start=start[key].offset,
                high_watermark=high[key].offset,
                last_stable=stable[key].offset,
                leader=by_key[key].leader,
                leader_epoch=high[key].leader_epoch,
                isr=by_key[key].isr,
            )
            for key in keys
        ]

    def offsets_since(
        self, partitions: Sequence[tuple[str, int]], since: datetime
    ) -> Mapping[tuple[str, int], int]:
        """The first replicated offset of each partition that was created then or later."""
        at = _Spec.for_timestamp(to_micros(since) // MILLI)
        offsets = self._offsets(partitions, at, Isolation.READ_UNCOMMITTED)
        return {key: result.offset for key, result in offsets.items() if result.offset >= 0}

    def group(self, group: str) -> GroupView:
        """State, coordinator, members and committed offsets, as the coordinator has them."""
        return self._coordinators(f"describing group {group}").describe(group)

    def _coordinators(self, doing: str) -> Coordinators:
        metadata = self._metadata(doing)
        known = to_addresses(metadata)
        # The one that answered first: others may be frozen, and take the time until that is known.
        order = sorted(known, key=lambda node: (node != metadata.orig_broker_id, node))
        return Coordinators([known[node] for node in order], self._connector(), self._deadline)

    def _connector(self) -> Connect:
        return connector(self._login, CLIENT_ID, min(TIMEOUT_SECONDS, self._remaining()))

    def _broker_entries(self, broker: int) -> Mapping[str, Any]:
        resource = ConfigResource(ResourceType.BROKER, str(broker))
        futures = self._client.describe_configs([resource], request_timeout=self._remaining())
        doing = f"reading the settings of broker {broker}"
        return self._wait(futures[resource], doing, need=Need("DescribeConfigs", "Cluster"))

    def _metadata(self, doing: str) -> Any:
        try:
            return self._client.list_topics(timeout=self._remaining())
        except KafkaException as error:
            raise self._error(error.args[0], doing) from error

    def _offsets(
        self, keys: Sequence[tuple[str, int]], spec: Any, isolation: Isolation
    ) -> Mapping[tuple[str, int], Any]:
        requested = {TopicPartition(topic, number): spec for topic, number in keys}
        futures = self._client.list_offsets(
            requested, isolation_level=isolation, request_timeout=self._remaining()
        )
        return {
            (partition.topic, partition.partition): self._wait(
                future,
                f"reading offsets of {partition.topic}-{partition.partition}",
                need=Need("Describe", f"Topic {partition.topic}"),
            )
            for partition, future in futures.items()
        }

    def _remaining(self) -> float:
        return max(MIN_REQUEST_SECONDS, self._deadline - time.monotonic())

    def _wait(
        self,
        future: Future[_T],
        doing: str,
        field: str = "spec.kafka",
        seconds: float | None = None,
        need: Need | None = None,
    ) -> _T:
        timeout = self._remaining() if seconds is None else seconds
        try:
            return future.result(timeout + GRACE_SECONDS)
        except FutureTimeoutError as error:
            raise TransientError(f"{doing}: no answer within {timeout:g} s") from error
        except KafkaException as error:
            cause = error.args[0]
            raise self._error(cause, doing, field, need) from error

    def _note(self, error: KafkaError) -> None:
        """Take why a connection is refused; it is called while the client is polled."""
        if error.code() in REFUSALS or ALERT in error.str():
            self._errors.append((error.name(), error.str()))

    def _error(
        self, error: KafkaError, doing: str, field: str = "spec.kafka", need: Need | None = None
    ) -> KrtError:
        """What a failed request is for the caller."""
        found = translate(error, doing, field, need)
        self._client.poll(0)  # calls `_note`
        if isinstance(found, TransientError) and self._errors:
            # "No broker answers" is all that the request itself says of a password that is refused.
            return TransientError(f"{found}; {brief(self._errors[-1][1])}")
        return found
