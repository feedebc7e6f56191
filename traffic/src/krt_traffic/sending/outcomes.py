"""Error code of a delivery report → outcome of the send.

``failed`` says that nothing reached the log, so it is used only where that is certain; everything
else that is no acknowledgement is ``unknown``. librdkafka knows whether a message may
have been written (its message status), but confluent-kafka does not expose that to Python, hence
this table. A send whose ``produce()`` raised never gets here: it is failed by its caller.
"""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import KafkaError

from krt_contract.outcomes import SendOutcome

REFUSED_BY_CONTENT = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD})
"""The broker refused the record for its content; no attempt of the same bytes can have reached the
log."""

REFUSED_BY_RIGHTS = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
"""Certain only while nothing was ever acknowledged: rights may have been revoked between an attempt
that reached the log and its retry."""

PURGED = frozenset({KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT})  # noqa: SLF001 - librdkafka's own codes have no public name
"""Dropped by ``purge()``. Messages put back into the queue for a retry may have been sent before,
so this is certain only in an incarnation that never had a connection."""

REFUSED_BEFORE_APPEND = frozenset({KafkaError.NOT_ENOUGH_REPLICAS})
"""The leader looked at the ISR before it appended; certain where there was but one attempt."""


@dataclass(slots=True)
class Circumstances:
    """What an incarnation knows about itself that decides codes which are uncertain alone.

    Attributes:
        ever_acked: whether any send was acknowledged.
        ever_connected: whether any broker ever answered; true until the opposite is shown.
        single_attempt: whether the client makes one attempt only (message.send.max.retries=0).
    """

    ever_acked: bool = False
    ever_connected: bool = True
    single_attempt: bool = False


def outcome_of(code: int | None, circumstances: Circumstances) -> SendOutcome:
    """Return acked, failed or unknown for the code of a delivery report (None: no error)."""
    if code is None:
        return SendOutcome.ACKED
    certain = (
        code in REFUSED_BY_CONTENT
        or (code in REFUSED_BY_RIGHTS and not circumstances.ever_acked)
        or (code in PURGED and not circumstances.ever_connected)
        or (code in REFUSED_BEFORE_APPEND and circumstances.single_attempt)
    )
    return SendOutcome.FAILED if certain else SendOutcome.UNKNOWN
