"""The `Kafka` port on a real cluster: one short-lived admin client, every call bounded in time."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    ElectionType,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka import IsolationLevel as Isolation
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import OffsetSpec as _Spec  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from krt_operator.api.times import to_micros
from krt_operator.engine.clock import SystemClock
from krt_operator.errors import TransientError
from krt_operator.kafka.errors import translate
from krt_operator.kafka.views import (
    NO_BROKER,
    Bounds,
    Broker,
    ClusterView,
    GroupMember,
    GroupView,
    Partition,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from krt_operator.engine.ports import TopicPlan

LOOK_SECONDS: Final = 5.0
"""How long all requests of one look may take together: a broker answers within 10 ms, and a pass
that waits longer than this would delay the next fault towards the 10 s that make it late."""

LEAST_SECONDS: Final = 0.5
"""What the last request of a look gets in any case: librdkafka refuses a timeout of nothing."""

CREATE_SECONDS: Final = 20.0
"""How long brokers may take to create topics: each new log is a directory and fsyncs."""

ELECTED: Final = frozenset({KafkaError.NO_ERROR, KafkaError.ELECTION_NOT_NEEDED})
"""Answers to an election after which the preferred replica leads."""

GRACE_SECONDS: Final = 1.0
"""Beyond the client's own timeout until we stop waiting for its answer."""

MILLI: Final = 1000
"""Microseconds in the unit of Kafka's timestamps."""

EARLIEST: Final[Any] = _Spec.earliest()  # type: ignore[no-untyped-call]
LATEST: Final[Any] = _Spec.latest()  # type: ignore[no-untyped-call]

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")


class KafkaAdmin:
    """A look at the cluster behind a bootstrap string; see `krt_operator.engine.ports.Kafka`.

    Raises, from every method: TransientError where nobody answers or the cluster is between two
    states, UserError where Kafka refuses what the resource says, KafkaDefectError otherwise.
    """

    def __init__(self, bootstrap: str) -> None:
        # librdkafka's own log goes to a logger nobody polls: a broker held down on purpose
        # would otherwise fill the controller's output with refused connections.
        self._client = AdminClient(
            {
                "bootstrap.servers": bootstrap,
                "client.id": "krt-operator",
                "socket.timeout.ms": int(LOOK_SECONDS * 1000),
                "socket.connection.setup.timeout.ms": 2000,
                "reconnect.backoff.max.ms": 500,
                "log.connection.close": False,
            },
            logger=_LOG,
        )
        self._until = time.monotonic() + LOOK_SECONDS

    def __enter__(self) -> Self:
        """The client itself, connected lazily."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Drop the client, which closes its connections."""
        del self._client

    def view(self) -> ClusterView:
        """Brokers, controller, partitions (internal topics included), as any broker knows them."""
        metadata = self._metadata("reading the cluster's metadata")
        return ClusterView(
            brokers=tuple(
                Broker(one, metadata.brokers[one].host) for one in sorted(metadata.brokers)
            ),
            controller=metadata.controller_id,
            partitions=_partitions(metadata),
        )

    def racks(self) -> dict[int, str]:
        """Broker id → the rack it reports, empty where none.

        librdkafka asks the cluster's controller for this, and waits for it: while a fault is open
        the controller may be the one that does not answer.
        """
        doing = "reading the brokers' racks"
        cluster = self._wait(self._client.describe_cluster(request_timeout=self._left()), doing)
        return {node.id: node.rack or "" for node in cluster.nodes}

    def create_topics(self, topics: Sequence[TopicPlan]) -> None:
        """Create those that do not exist with the replicas assigned; existing ones stay as is."""
        if not topics:
            return
        new = [
            NewTopic(
                topic.name,
                num_partitions=len(topic.assignment),
                replica_assignment=[list(topic.assignment[p]) for p in sorted(topic.assignment)],
                config=dict(topic.config),
            )
            for topic in topics
        ]
        futures = self._client.create_topics(
            new, operation_timeout=CREATE_SECONDS, request_timeout=CREATE_SECONDS
        )
        for name, future in futures.items():
            try:
                self._wait(future, f"creating topic {name}", f"spec.topics[{name}]", CREATE_SECONDS)
            except _TopicExistsError:
                continue
        # A new look may follow: what creating took is not its fault.
        self._until = time.monotonic() + LOOK_SECONDS

    def bounds(self, topics: Sequence[str]) -> list[Bounds]:
        """The bounds of every partition of these topics, ordered by topic and partition.

        `last_stable` comes from a read_committed request: the client's watermark call returns the
        high watermark even where an open transaction holds readers back.
        """
        known = _partitions(self._metadata("reading partitions"))
        metadata = {(one.topic, one.partition): one for one in known}
        wanted = sorted(key for key in metadata if key[0] in set(topics))
        missing = sorted(set(topics) - {topic for topic, _ in wanted})
        if missing:
            raise TransientError(f"Kafka does not know topic {missing[0]} (yet)")
        start = self._offsets(wanted, EARLIEST, Isolation.READ_UNCOMMITTED)
        high = self._offsets(wanted, LATEST, Isolation.READ_UNCOMMITTED)
        stable = self._offsets(wanted, LATEST, Isolation.READ_COMMITTED)
        taken_at = to_micros(SystemClock().now())
        return [
            Bounds(
                topic=key[0],
                partition=key[1],
                taken_at=taken_at,
                log_start=start[key].offset,
                high_watermark=high[key].offset,
                last_stable=stable[key].offset,
                leader=metadata[key].leader,
                leader_epoch=high[key].leader_epoch,
                isr=metadata[key].isr,
            )
            for key in wanted
        ]

    def offsets_since(
        self, partitions: Sequence[tuple[str, int]], since: datetime
    ) -> Mapping[tuple[str, int], int]:
        """The first replicated offset of each partition that was created then or later."""
        at = _Spec.for_timestamp(to_micros(since) // MILLI)
        found = self._offsets(partitions, at, Isolation.READ_UNCOMMITTED)
        return {key: one.offset for key, one in found.items() if one.offset >= 0}

    def elect_preferred(self, partitions: Sequence[tuple[str, int]]) -> Mapping[str, str]:
        """Elect the first replica of each partition its leader; names those refused, and why."""
        asked = [TopicPartition(topic, number) for topic, number in partitions]
        # Without timeouts of its own: confluent-kafka 2.16 fails on any it is given, for its list
        # of keywords is shorter than its format. The client's socket timeout bounds the call.
        future = self._client.elect_leaders(ElectionType.PREFERRED, asked)
        answers = self._wait(future, "electing preferred leaders", "spec.faults")
        refused = {}
        for one, error in answers.items():
            # The errors themselves, though the client's documentation says exceptions.
            if error is not None and error.code() not in ELECTED:
                refused[f"{one.topic}-{one.partition}"] = error.str()
        return refused

    def group(self, group: str) -> GroupView:
        """State, coordinator, members and committed offsets, as the coordinator has them."""
        doing = f"describing group {group}"
        described = self._client.describe_consumer_groups([group], request_timeout=self._left())
        found = self._wait(described[group], doing)
        asked = self._client.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=self._left()
        )
        offsets = self._wait(asked[group], f"reading offsets of group {group}")
        return GroupView(
            group=group,
            state=found.state.name,
            coordinator=_id(found.coordinator),
            members=tuple(_member(member) for member in found.members),
            committed={
                (one.topic, one.partition): one.offset
                for one in offsets.topic_partitions or ()
                if one.error is None and one.offset >= 0
            },
        )

    def _metadata(self, doing: str) -> Any:
        try:
            return self._client.list_topics(timeout=self._left())
        except KafkaException as error:
            raise translate(error.args[0], doing) from error

    def _offsets(
        self, keys: Sequence[tuple[str, int]], spec: Any, isolation: Isolation
    ) -> Mapping[tuple[str, int], Any]:
        asked = {TopicPartition(topic, number): spec for topic, number in keys}
        futures = self._client.list_offsets(
            asked, isolation_level=isolation, request_timeout=self._left()
        )
        return {
            (one.topic, one.partition): self._wait(
                future, f"reading offsets of {one.topic}-{one.partition}"
            )
            for one, future in futures.items()
        }

    def _left(self) -> float:
        return max(LEAST_SECONDS, self._until - time.monotonic())

    def _wait(
        self,
        future: Future[_T],
        doing: str,
        field: str = "spec.kafka",
        seconds: float | None = None,
    ) -> _T:
        timeout = self._left() if seconds is None else seconds
        try:
            return future.result(timeout + GRACE_SECONDS)
        except FutureTimeoutError as error:
            raise TransientError(f"{doing}: no answer within {timeout:g} s") from error
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                raise _TopicExistsError(doing) from error
            raise translate(cause, doing, field) from error


class _TopicExistsError(Exception):
    """The topic is there: an earlier pass created it."""


def _id(node: Any) -> int:
    return NO_BROKER if node is None else int(node.id)


def _member(member: Any) -> GroupMember:
    assigned = member.assignment.topic_partitions if member.assignment else ()
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.host.lstrip("/"),
        partitions=tuple(sorted((one.topic, one.partition) for one in assigned)),
    )


def _partitions(metadata: Any) -> tuple[Partition, ...]:
    return tuple(
        Partition(
            topic=name,
            partition=number,
            leader=one.leader,
            replicas=tuple(one.replicas),
            isr=tuple(one.isrs),
        )
        for name, topic in sorted(metadata.topics.items())
        for number, one in sorted(topic.partitions.items())
    )
