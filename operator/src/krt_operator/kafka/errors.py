"""What an error of the Kafka client means for the controller: retry, a user error, or a defect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError

from krt_operator.errors import KafkaDefectError, KrtError, TransientError, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_AUTHORIZED: Final = (
    "KafkaNotAuthorized",
    "give the user of the test this right; docs/how-to/existing-kafka.md lists all that it needs",
)

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
    KafkaError.TOPIC_DELETION_DISABLED: (
        "TopicDeletionDisabled",
        "set delete.topic.enable to true on the brokers, or delete the topics of the test yourself",
    ),
    KafkaError.TOPIC_EXCEPTION: ("TopicNameRefused", "choose another topic name"),
    KafkaError.POLICY_VIOLATION: (
        "TopicPolicyRefused",
        "the brokers' create.topic.policy forbids this topic; change the topic or the policy",
    ),
    KafkaError.TOPIC_AUTHORIZATION_FAILED: NOT_AUTHORIZED,
    KafkaError.GROUP_AUTHORIZATION_FAILED: NOT_AUTHORIZED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: NOT_AUTHORIZED,
}
"""Broker errors that only a change of the resource or of Kafka fixes: reason and remedy."""

TRANSIENT_CODES: Final[frozenset[int]] = frozenset(
    {
        # Errors of the client itself: no broker answered, or none did yet.
        KafkaError._TIMED_OUT,  # noqa: SLF001 - librdkafka's public local codes
        KafkaError._TIMED_OUT_QUEUE,  # noqa: SLF001 - as above
        KafkaError._TRANSPORT,  # noqa: SLF001 - as above
        KafkaError._RESOLVE,  # noqa: SLF001 - as above
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 - as above
        KafkaError._WAIT_COORD,  # noqa: SLF001 - as above
        KafkaError._WAIT_CACHE,  # noqa: SLF001 - as above
        KafkaError._DESTROY,  # noqa: SLF001 - as above
        KafkaError._RETRY,  # noqa: SLF001 - as above
        # The cluster is failing over.
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
        # A consumer that was killed is a member of its group until its session ends.
        KafkaError.NON_EMPTY_GROUP,
    }
)
"""Errors that a retry may not meet again: an election, a failover, a broker that is down."""


REFUSALS: Final[frozenset[int]] = frozenset(
    {
        KafkaError._AUTHENTICATION,  # noqa: SLF001 - as above
        KafkaError._SSL,  # noqa: SLF001 - as above
    }
)
"""What the client reports of a connection that is refused for its user or its certificate."""


@dataclass(frozen=True, slots=True)
class Need:
    """The right that a request needs.

    Attributes:
        operation: as Kafka's tools name it, such as `Describe`.
        resource: its type and name, such as `Topic foo`.
    """

    operation: str
    resource: str

    def __str__(self) -> str:
        """As a sentence says it."""
        return f"the ACL {self.operation} on {self.resource}"


def translate(
    error: KafkaError, doing: str, field: str = "spec.kafka", need: Need | None = None
) -> KrtError:
    """Return the exception that tells the caller how to handle an error.

    Args:
        error: what the client returned.
        doing: the operation that failed, such as "creating topic foo".
        field: path of the field in the resource that a user would change.
        need: the right that the operation needs.
    """
    message = f"{doing}: Kafka answered {error.name()} ({error.str()})"
    code = error.code()
    if code in USER_CODES:
        reason, remedy = USER_CODES[code]
        if need is not None and USER_CODES[code] is NOT_AUTHORIZED:
            message = f"{message}; this needs {need}"
        return UserError(reason, field, f"{message}; {remedy}")
    if code in TRANSIENT_CODES or error.retriable():
        return TransientError(message)
    return KafkaDefectError(f"{message}; this is a defect of the controller: please report it")
