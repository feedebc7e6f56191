"""What became of a send that VerifiableProducer reports as an error.

``failed`` only where it is certain that nothing reached the log; everything else is ``unknown``.
A leader that answers NOT_LEADER_OR_FOLLOWER may have appended before it lost its place, and a
timeout says nothing at all.
"""

from __future__ import annotations

from krt_contract.outcomes import SendOutcome

CERTAIN = frozenset(
    {
        # Raised by the client before anything was sent.
        "BufferExhaustedException",
        "InvalidTopicException",
        "SerializationException",
        # By the broker, which looks at these before it appends.
        "ClusterAuthorizationException",
        "InvalidRecordException",
        "InvalidTimestampException",
        "RecordBatchTooLargeException",
        "RecordTooLargeException",
        "TopicAuthorizationException",
    }
)
"""Exceptions of ``org.apache.kafka.common.errors`` (and the client) after which nothing lies in
the log."""

CERTAIN_WITHOUT_RETRIES = frozenset({"NotEnoughReplicasException"})
"""Refused before the append; where the client retries, an earlier attempt may have been appended
and not answered."""

CLOSED = "IllegalStateException"
"""What a closed producer throws: the shutdown hook closes it under the sending thread."""


def short(exception: str) -> str:
    """Return the class's own name: the tool prints ``class org.apache….TimeoutException``."""
    return exception.rpartition(".")[2].rpartition("$")[2].strip()


def outcome(exception: str, *, retries: bool) -> SendOutcome:
    """Return ``failed`` or ``unknown``.

    Args:
        exception: the class as the tool prints it.
        retries: whether the client sends again by itself.
    """
    name = short(exception)
    if name in CERTAIN or (name in CERTAIN_WITHOUT_RETRIES and not retries):
        return SendOutcome.FAILED
    return SendOutcome.UNKNOWN
