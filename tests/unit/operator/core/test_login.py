"""The Secrets of a test as the controller reads them, and what it refuses to log in with."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat
from tests.certificates import Signed, authority, certificate
from tests.unit.operator.doubles.objects import spec as smallest

from krt_contract.kafka_login import PLAINTEXT
from krt_operator.api.spec import Spec
from krt_operator.engine.certificates import check_certificates
from krt_operator.engine.login import read_login
from krt_operator.errors import KafkaAccessError, RefusedError

if TYPE_CHECKING:
    from krt_operator.engine.views import Json

PASSWORD = "distinctive-Passw0rd"  # noqa: S105 - of a test
FIELD = "spec.kafkaRef.security"
ROOT = authority("root")
CLIENT = certificate("client", ROOT)
OLD = certificate("old", ROOT, days=-1)
SECURITY: Json = {
    "tls": {
        "trustedCertificateSecretRef": {"name": "ca"},
        "certificateSecretRef": {"name": "client"},
    },
    "sasl": {"mechanism": "SCRAM-SHA-512", "secretRef": {"name": "user"}},
}


class Secrets:
    """The part of the port `Cluster` that reads Secrets."""

    def __init__(self, **changes: dict[str, str] | None) -> None:
        self.refuses = False
        self.texts: dict[str, dict[str, str] | None] = {
            "ca": {"ca.crt": ROOT.pem},
            "client": {"tls.crt": CLIENT.pem, "tls.key": CLIENT.key_pem},
            "user": {"username": "alice", "password": PASSWORD},
            **changes,
        }

    def get(self, kind: str, name: str) -> Json | None:
        assert kind == "Secret"
        if self.refuses:
            raise RefusedError(f'HTTP 403: cannot get resource "secrets" named {name}')
        texts = self.texts[name]
        if texts is None:
            return None
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        return {"data": data}


def spec_of(security: Json | None) -> Spec:
    changes = smallest()
    changes["topics"][0]["name"] = "krt-foo"
    reference: Json = {"bootstrapServers": ["kafka.other:9093"]}
    if security is not None:
        reference["security"] = security
    return Spec.model_validate({**changes, "kafkaRef": reference})


def refused(secrets: Secrets) -> KafkaAccessError:
    cluster: Any = secrets
    with pytest.raises(KafkaAccessError) as caught:
        check_certificates(read_login(spec_of(SECURITY), cluster), datetime.now(UTC))
    assert PASSWORD not in str(caught.value)
    assert "PRIVATE" not in str(caught.value)
    return caught.value


def test_read_login_has_what_the_secrets_hold() -> None:
    cluster: Any = Secrets()
    login = read_login(spec_of(SECURITY), cluster)
    check_certificates(login, datetime.now(UTC))
    settings = login.client_settings()
    assert settings["security.protocol"] == "SASL_SSL"
    assert (settings["sasl.username"], settings["sasl.password"]) == ("alice", PASSWORD)
    assert settings["ssl.ca.pem"] == ROOT.pem
    assert settings["ssl.key.pem"] == CLIENT.key_pem


def test_read_login_of_a_test_without_security_reads_nothing() -> None:
    cluster: Any = None
    assert read_login(spec_of(None), cluster) is PLAINTEXT
    assert read_login(Spec.model_validate(smallest()), cluster) is PLAINTEXT


def test_read_login_without_the_right_names_the_value_to_set() -> None:
    secrets = Secrets()
    secrets.refuses = True
    error = refused(secrets)
    assert (error.reason, error.field) == (
        "SecretUnreadable",
        f"{FIELD}.tls.trustedCertificateSecretRef",
    )
    assert "add ca to the chart value kafkaRef.secretNames" in str(error)


def test_read_login_without_a_secret_names_it() -> None:
    error = refused(Secrets(user=None))
    assert (error.reason, error.field) == ("SecretMissing", f"{FIELD}.sasl.secretRef")
    assert "Secret user does not exist in the namespace of the test" in str(error)


def test_read_login_without_a_key_names_the_keys_that_are_there() -> None:
    error = refused(Secrets(user={"user": "alice", "password": PASSWORD}))
    assert error.reason == "SecretMissing"
    assert "Secret user has no key username (it has password, user)" in str(error)


MUTUAL = certificate("mutual", ROOT)
INVALID: dict[str, tuple[Secrets, str]] = {
    "a password with a line break": (
        Secrets(user={"username": "alice", "password": f"{PASSWORD}\n"}),
        "key password of Secret user ends with a line break",
    ),
    "a password with a quotation mark": (
        Secrets(user={"username": "alice", "password": f'{PASSWORD}"'}),
        "key password of Secret user has a quotation mark",
    ),
    "an empty user": (
        Secrets(user={"username": "", "password": PASSWORD}),
        "key username of Secret user is empty",
    ),
    "a CA that is none": (
        Secrets(ca={"ca.crt": "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"}),
        "key ca.crt of Secret ca is no certificate in PEM",
    ),
    "a CA that has expired": (
        Secrets(ca={"ca.crt": OLD.pem}),
        "key ca.crt of Secret ca expired at ",
    ),
    "a certificate that has expired": (
        Secrets(client={"tls.crt": OLD.pem, "tls.key": OLD.key_pem}),
        "key tls.crt of Secret client expired at ",
    ),
    "a key that is not the certificate's": (
        Secrets(client={"tls.crt": CLIENT.pem, "tls.key": MUTUAL.key_pem}),
        "key tls.key of Secret client is not the key of the certificate",
    ),
    "a key of a form that Java does not read": (
        Secrets(
            client={
                "tls.crt": CLIENT.pem,
                "tls.key": CLIENT.key_in(PrivateFormat.TraditionalOpenSSL),
            }
        ),
        "privateKey.encoding: PKCS8",
    ),
    "a key that is none": (
        Secrets(client={"tls.crt": CLIENT.pem, "tls.key": "x"}),
        "key tls.key of Secret client is no private key in PEM",
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_read_login_that_cannot_be_used_names_secret_and_key(case: str) -> None:
    secrets, message = INVALID[case]
    error = refused(secrets)
    assert error.reason == "SecretInvalid"
    assert message in str(error)


def test_check_certificates_of_a_bundle_with_an_old_and_a_new_ca_passes() -> None:
    cluster: Any = Secrets(ca={"ca.crt": OLD.pem + ROOT.pem})
    check_certificates(read_login(spec_of(SECURITY), cluster), datetime.now(UTC))


def test_check_certificates_of_a_chain_checks_the_first_one() -> None:
    between = authority("between", ROOT)
    own: Signed = certificate("client", between)
    cluster: Any = Secrets(client={"tls.crt": own.pem, "tls.key": own.key_pem})
    check_certificates(read_login(spec_of(SECURITY), cluster), datetime.now(UTC))
