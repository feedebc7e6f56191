from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from krt_operator.errors import KafkaDefectError, TransientError, UserError
from krt_operator.kafka.errors import (
    TRANSIENT_CODES,
    USER_CODES,
    Need,
    translate,
)


@pytest.mark.parametrize("code", sorted(USER_CODES))
def test_translate_error_of_the_resource_is_a_user_error_with_a_remedy(code: int) -> None:
    found = translate(KafkaError(code), "creating topic foo", "spec.topics[foo]")
    assert isinstance(found, UserError)
    assert (found.field, found.reason) == ("spec.topics[foo]", USER_CODES[code][0])
    assert "creating topic foo" in found.message
    assert USER_CODES[code][1] in found.message


def test_translate_error_of_authorization_names_operation_and_resource() -> None:
    error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    found = translate(error, "creating topic foo", need=Need("Create", "Topic foo"))
    assert isinstance(found, UserError)
    assert found.reason == "KafkaNotAuthorized"
    assert "this needs the ACL Create on Topic foo" in found.message


def test_translate_error_of_another_kind_names_no_right() -> None:
    error = KafkaError(KafkaError.INVALID_PARTITIONS)
    found = translate(error, "creating topic foo", need=Need("Create", "Topic foo"))
    assert "ACL" not in str(found)


@pytest.mark.parametrize("code", sorted(TRANSIENT_CODES))
def test_translate_passing_error_is_transient(code: int) -> None:
    assert isinstance(translate(KafkaError(code), "reading metadata"), TransientError)


@pytest.mark.parametrize("code", [KafkaError.INVALID_MSG, KafkaError._INVALID_ARG])  # noqa: SLF001 - a public code
def test_translate_any_other_error_is_a_defect(code: int) -> None:
    assert isinstance(translate(KafkaError(code), "reading metadata"), KafkaDefectError)


def test_translate_no_code_is_both_user_and_transient() -> None:
    assert not TRANSIENT_CODES & set(USER_CODES)
