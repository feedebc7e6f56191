"""What an error of the Kafka client means for the controller: wait, tell the user, or a defect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError

from krt_operator.errors import KrtError, TransientError, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

USER_CODES: Final[Mapping[int, tuple[str, str]]] = {
    KafkaError.INVALID_CONFIG: (
        "TopicConfigRefused",
        "correct the setting that Kafka names in spec.topics[].config",
    ),
    KafkaError.INVALID_REPLICATION_FACTOR: (
        "ReplicationFactorRefused",
        "lower replicationFactor or raise spec.kafka.replicas",
    ),
    KafkaError.INVALID_PARTITIONS: ("PartitionsRefused", "correct spec.topics[].partitions"),
    KafkaError.TOPIC_EXCEPTION: ("TopicNameRefused", "choose another topic name"),
    KafkaError.POLICY_VIOLATION: (
        "TopicPolicyRefused",
        "the brokers' create.topic.policy forbids this topic; change the topic or the policy",
    ),
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (
        "KafkaNotAuthorized",
        "give the controller's Kafka user the right to create and describe topics",
    ),
    KafkaError.GROUP_AUTHORIZATION_FAILED: (
        "KafkaNotAuthorized",
        "give the controller's Kafka user the right to describe groups",
    ),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: (
        "KafkaNotAuthorized",
        "give the controller's Kafka user the right to describe the cluster",
    ),
}
"""Broker answers that only another resource mends: condition reason and remedy."""

TRANSIENT_CODES: Final[frozenset[int]] = frozenset(
    {
        # The client's own: nobody answered, or not yet.
        KafkaError._TIMED_OUT,  # noqa: SLF001 - librdkafka's public local codes
        KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001 - as above
        KafkaError._TRANSPORT,  # noqa: SLF001 - as above
        KafkaError._RESOLVE,  # noqa: SLF001 - as above
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 - as above
        KafkaError._WAIT_COORD,  # noqa: SLF001 - as above
        KafkaError._WAIT_CACHE,  # noqa: SLF001 - as above
        KafkaError._DESTROY,  # noqa: SLF001 - as above
        KafkaError._RETRY,  # noqa: SLF001 - as above
        # A cluster between two states.
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.NOT_CONTROLLER,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
    }
)
"""Codes that the same call may not meet again: an election, a fail-over, a broker held down."""


class KafkaDefectError(KrtError):
    """The Kafka client or a broker answered what a correct call cannot meet."""


def translate(error: KafkaError, doing: str, field: str = "spec.kafka") -> KrtError:
    """Return the exception that says what to do about an error.

    Args:
        error: what the client returned.
        doing: what was being done, as in "creating topic foo".
        field: path in the resource that a user would change.
    """
    said = f"{doing}: Kafka answered {error.name()} ({error.str()})"
    code = error.code()
    if code in USER_CODES:
        reason, remedy = USER_CODES[code]
        return UserError(reason, field, f"{said}; {remedy}")
    if code in TRANSIENT_CODES or error.retriable():
        return TransientError(said)
    return KafkaDefectError(f"{said}; this call should not meet it: please report it")
