"""The port `Kafka` on a real cluster: what the controller reads of it, and what it changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.cimpl import NewTopic

from krt_operator.errors import KrtError
from krt_operator.kafka.reader import CLIENT_SECONDS, KafkaReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Future

    from krt_contract.entries import Topic

CHANGE_SECONDS: Final = 20.0
"""How long brokers may take to create or delete topics: a log is a directory and several fsyncs."""

ELECTED: Final = frozenset({KafkaError.NO_ERROR, KafkaError.ELECTION_NOT_NEEDED})
"""Answers to an election request after which the preferred replica leads."""


class KafkaAdmin(KafkaReader):
    """An admin client of the cluster behind a bootstrap string; see `engine.ports.Kafka`.

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
            )
        self._deadline = time.monotonic() + CLIENT_SECONDS

    def delete_groups(self, groups: Sequence[str]) -> None:
        """Delete these groups, which have no members; one that does not exist is passed over."""
        futures = self._client.delete_consumer_groups(
            list(groups), request_timeout=self._remaining()
        )
        for name, future in futures.items():
            self._change(
                future,
                f"deleting group {name}",
                "spec.traffic.consumers",
                KafkaError.GROUP_ID_NOT_FOUND,
            )

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

    def _change(self, future: Future[Any], doing: str, field: str, done: int) -> None:
        """Wait for a change; the error with the code `done` says that it was made before."""
        try:
            self._wait(future, doing, field, CHANGE_SECONDS)
        except KrtError as error:
            cause = error.__cause__
            if not (isinstance(cause, KafkaException) and cause.args[0].code() == done):
                raise
