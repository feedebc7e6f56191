from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from krt_contract.outcomes import SendOutcome
from krt_traffic.sending.outcomes import Circumstances, outcome_of

CODES = {
    name: getattr(KafkaError, name)
    for name in dir(KafkaError)
    if name.upper() == name and isinstance(getattr(KafkaError, name), int)
}

ALWAYS_FAILED = {"MSG_SIZE_TOO_LARGE", "INVALID_RECORD"}
FAILED_IF_NEVER_ACKED = {
    "TOPIC_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
}
FAILED_IF_NEVER_CONNECTED = {"_PURGE_QUEUE", "_PURGE_INFLIGHT"}
FAILED_IF_TRIED_ONCE = {"NOT_ENOUGH_REPLICAS"}


def failed_names(circumstances: Circumstances) -> set[str]:
    return {
        name
        for name, code in CODES.items()
        if outcome_of(code, circumstances) == SendOutcome.FAILED
    }


def test_client_has_the_codes_the_table_was_written_for() -> None:
    assert len(CODES) > 150


@pytest.mark.parametrize(
    ("circumstances", "failed"),
    [
        (Circumstances(ever_acked=True), ALWAYS_FAILED),
        (Circumstances(), ALWAYS_FAILED | FAILED_IF_NEVER_ACKED),
        (
            Circumstances(ever_connected=False),
            ALWAYS_FAILED | FAILED_IF_NEVER_ACKED | FAILED_IF_NEVER_CONNECTED,
        ),
        (Circumstances(ever_acked=True, single_attempt=True), ALWAYS_FAILED | FAILED_IF_TRIED_ONCE),
    ],
)
def test_outcome_of_an_error_is_failed_only_where_nothing_reached_the_log(
    circumstances: Circumstances, failed: set[str]
) -> None:
    assert failed_names(circumstances) == failed


@pytest.mark.parametrize("code", sorted(CODES.values()))
def test_outcome_of_an_error_is_never_acked(code: int) -> None:
    assert outcome_of(code, Circumstances()) in {SendOutcome.FAILED, SendOutcome.UNKNOWN}


def test_outcome_of_no_error_is_acked() -> None:
    assert outcome_of(None, Circumstances()) == SendOutcome.ACKED


@pytest.mark.parametrize(
    "name",
    [
        "_MSG_TIMED_OUT",
        "REQUEST_TIMED_OUT",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "INVALID_PRODUCER_EPOCH",
        "_FENCED",
        "_FATAL",
        "_INVALID_DIFFERENT_RECORD",
    ],
)
def test_outcome_of_timeout_fencing_or_sequence_error_is_unknown(name: str) -> None:
    assert outcome_of(CODES[name], Circumstances(ever_connected=False)) == SendOutcome.UNKNOWN
