from __future__ import annotations

import pytest

from krt_contract.kafka_login import PLAINTEXT, Login
from krt_contract.kafka_refusal import brief, find_refusal
from krt_contract.kafka_security import FIELD, SecretFile, Security

LOGIN = Login(
    Security.of(
        {
            "kafkaRef": {
                "security": {
                    "tls": {"certificateSecretRef": {"name": "client"}},
                    "sasl": {"mechanism": "PLAIN", "secretRef": {"name": "user"}},
                }
            }
        }
    ),
    {SecretFile.USERNAME: "alice", SecretFile.PASSWORD: "x"},
)
REFUSED = (
    "sasl_ssl://kafka:9093/bootstrap: SASL authentication error: Authentication failed: "
    "Invalid username or password (after 302ms in state AUTH_REQ)"
)
ALERT = (
    "ssl://kafka:9093/1: Receive failed: error:0A000412:SSL routines::ssl/tls alert bad "
    "certificate: SSL alert number 42 (after 5ms in state APIVERSION_QUERY, 2 identical error(s) "
    "suppressed)"
)


def test_brief_error_has_listener_and_cause_and_nothing_that_changes() -> None:
    assert brief(REFUSED) == (
        "kafka:9093: SASL authentication error: Authentication failed: Invalid username or password"
    )
    assert brief(ALERT).endswith("SSL alert number 42")
    assert brief("something else") == "the cluster: something else"


def test_find_refusal_of_a_user_names_user_listener_and_secret() -> None:
    refusal = find_refusal([("_AUTHENTICATION", REFUSED)], "kafka:9093", LOGIN)
    assert refusal is not None
    assert refusal.field == f"{FIELD}.sasl.secretRef"
    assert "authentication refused by kafka:9093 as user alice" in refusal.message
    assert "in Secret user" in refusal.message


@pytest.mark.parametrize(
    ("login", "field", "words"),
    [
        (LOGIN, f"{FIELD}.tls.certificateSecretRef", "refuses the certificate of Secret client"),
        (PLAINTEXT, f"{FIELD}.tls", "wants a certificate of the client"),
    ],
)
def test_find_refusal_of_a_certificate_names_its_secret(
    login: Login, field: str, words: str
) -> None:
    refusal = find_refusal([("_TRANSPORT", ALERT)], "kafka:9093", login)
    assert refusal is not None
    assert refusal.field == field
    assert words in refusal.message


def test_find_refusal_of_a_cluster_that_is_not_reached_is_none() -> None:
    assert find_refusal([], "127.0.0.1:1", LOGIN) is None
