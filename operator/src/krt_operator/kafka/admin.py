"""The port `Kafka` on a real cluster: what the controller reads of it, and what it changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import (
    ElectionType,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from krt_operator.errors import KrtError
from krt_operator.kafka.errors import Need
from krt_operator.kafka.reader import CLIENT_SECONDS, KafkaReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from concurrent.futures import Future

    from krt_contract.entries import Topic

CHANGE_SECONDS: Final = 20.0
"""How long brokers may take to create or delete topics: a log is a directory and several fsyncs."""

ADOPTED_RIGHTS: Final = (
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.READ,
    AclOperation.WRITE,
)
"""What a run does with topics that it adopts."""

TOPIC_RIGHTS: Final = (*ADOPTED_RIGHTS, AclOperation.DELETE)
"""What a run does with topics that it creates, from the producers to the cleanup."""

GROUP_RIGHTS: Final = (AclOperation.DESCRIBE, AclOperation.READ, AclOperation.DELETE)
"""What a run does with its groups."""

INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state")
"""Kafka's own topics, whose leaders the recorder follows: an election there may excuse a commit
that went back, so one that is hidden would accuse Kafka."""

ELECTED: Final = frozenset({KafkaError.NO_ERROR, KafkaError.ELECTION_NOT_NEEDED})
"""Answers to an election request after which the preferred replica leads."""


class KafkaAdmin(KafkaReader):
    """An admin client of the cluster behind a bootstrap string; see `engine.kafka.Kafka`.

    Errors as of `KafkaReader`.
    """

    def create_topics(self, topics: Sequence[Topic]) -> None:
        """Create those that do not exist, with the assigned replicas; do not change others."""
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
            new, operation_timeout=CHANGE_SECONDS, request_timeout=CHANGE_SECONDS
        )
        for name, future in futures.items():
            # A topic that exists was created by an earlier pass.
            self._change(
                future,
                f"creating topic {name}",
                f"spec.topics[{name}]",
                KafkaError.TOPIC_ALREADY_EXISTS,
                Need("Create", f"Topic {name}"),
            )
        # Requests that follow have their full time again.
        self._deadline = time.monotonic() + CLIENT_SECONDS

    def delete_topics(self, topics: Sequence[str]) -> None:
        """Delete these topics; one that does not exist is passed over."""
        futures = self._client.delete_topics(
            list(topics), operation_timeout=CHANGE_SECONDS, request_timeout=CHANGE_SECONDS
        )
        for name, future in futures.items():
            self._change(
                future,
                f"deleting topic {name}",
                f"spec.topics[{name}]",
                KafkaError.UNKNOWN_TOPIC_OR_PART,
                Need("Delete", f"Topic {name}"),
            )
        self._deadline = time.monotonic() + CLIENT_SECONDS

    def delete_groups(self, groups: Sequence[str]) -> None:
        """Delete these groups, which have no members; one that does not exist is passed over."""
        if groups:
            coordinators = self._coordinators(f"deleting group {groups[0]}")
            for name in groups:
                coordinators.delete(name)

    def missing_rights(
        self, topics: Sequence[str], adopted: Sequence[str], groups: Sequence[str]
    ) -> list[str]:
        """The ACLs that the user lacks for a run with these topics and groups, in words.

        Empty where it lacks none, as where brokers have no authorizer.

        Args:
            topics: those that the run created, and will delete.
            adopted: those that it only reads and writes.
            groups: of its consumers.
        """
        missing = [
            str(Need("Describe", f"Topic {name}"))
            for name in INTERNAL_TOPICS
            if not self._may_describe(name)
        ]
        found = self._client.describe_topics(
            TopicCollection([*topics, *adopted]),
            include_authorized_operations=True,
            request_timeout=self._remaining(),
        )
        for name, future in found.items():
            described = self._wait(
                future, f"describing topic {name}", need=Need("Describe", f"Topic {name}")
            )
            rights = ADOPTED_RIGHTS if name in adopted else TOPIC_RIGHTS
            granted = described.authorized_operations
            numbers = None if granted is None else {right.value for right in granted}
            missing += _lacking(numbers, rights, f"Topic {name}")
        if groups:
            coordinators = self._coordinators(f"describing group {groups[0]}")
            for name in groups:
                missing += _lacking(coordinators.operations(name), GROUP_RIGHTS, f"Group {name}")
        return missing

    def _may_describe(self, topic: str) -> bool:
        """Whether the user may describe a topic, which need not be there."""
        found = self._client.describe_topics(
            TopicCollection([topic]), request_timeout=self._remaining()
        )
        try:
            self._wait(found[topic], f"describing topic {topic}")
        except KrtError as error:
            code = _code(error)
            if code == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return False
            if code != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
        return True

    def elect_preferred(self, partitions: Sequence[tuple[str, int]]) -> Mapping[str, str]:
        """Elect the first replica of each partition its leader; return refusals by partition."""
        requested = [TopicPartition(topic, number) for topic, number in partitions]
        # No timeout is passed: confluent-kafka 2.16 fails on any keyword here, because its list of
        # keywords is shorter than its format string. The client's socket timeout bounds the call.
        future = self._client.elect_leaders(ElectionType.PREFERRED, requested)
        answers = self._wait(future, "electing preferred leaders", "spec.faults")
        return {
            f"{partition.topic}-{partition.partition}": error.str()
            for partition, error in answers.items()
            # KafkaErrors, although the client's documentation says exceptions.
            if error is not None and error.code() not in ELECTED
        }

    def _change(self, future: Future[Any], doing: str, field: str, done: int, need: Need) -> None:
        """Wait for a change; the error with the code `done` says that it was made before."""
        try:
            self._wait(future, doing, field, CHANGE_SECONDS, need)
        except KrtError as error:
            if _code(error) != done:
                raise


def _code(error: KrtError) -> int | None:
    """Kafka's code behind an error; None where there is none."""
    cause = error.__cause__
    return cause.args[0].code() if isinstance(cause, KafkaException) else None


def _lacking(
    granted: AbstractSet[int] | None, rights: Sequence[AclOperation], resource: str
) -> list[str]:
    """Return the rights that are not granted; none where the broker reports no rights.

    Args:
        granted: Kafka's numbers of operations.
        rights: what is needed.
        resource: of what, such as `Topic foo`.
    """
    if granted is None:
        return []
    return [
        str(Need(right.name.title().replace("_", ""), resource))
        for right in rights
        if right.value not in granted
    ]
