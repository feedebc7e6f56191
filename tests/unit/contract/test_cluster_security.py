"""How clients get into the cluster of a test, whoever runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.certificates import authority, certificate
from tests.unit.contract.plans import document, spec

from krt_contract.cluster_security import FIELD, client_secret, security_of, without_user
from krt_contract.kafka_login import Login
from krt_contract.kafka_security import Mechanism, SecretFile, SecretKey, Security
from krt_contract.plan import Plan

if TYPE_CHECKING:
    import pytest

UID = "01234567-89ab-cdef-0123-456789abcdef"
OWN = "t-kafka-clients-01234567"
CERTIFICATES = (SecretFile.CA, SecretFile.CERTIFICATE, SecretFile.PRIVATE_KEY)


def of(**fields: Any) -> Security:
    run = {"namespace": "ns", "name": "t", "uid": UID, "seed": 42}
    return security_of(Plan.from_document(document(run=run, spec=spec(**fields))))


def test_client_secret_of_another_run_has_another_name() -> None:
    assert client_secret("t", UID) == OWN
    assert client_secret("t", UID.replace("0", "9")) != OWN


def test_security_of_a_deployed_cluster_in_plaintext_has_no_keys() -> None:
    assert of() == of(kafka={"replicas": 3}) == Security()


def test_security_of_a_deployed_cluster_with_tls_is_by_certificate() -> None:
    found = of(kafka={"security": {"tls": {}}})
    assert found.protocol == "SSL"
    assert found.keys == tuple(SecretKey(file, OWN, file, FIELD) for file in CERTIFICATES)


def test_security_of_a_deployed_cluster_with_sasl_has_a_user_and_the_certificate() -> None:
    found = of(kafka={"security": {"tls": {}, "sasl": {"mechanism": "SCRAM-SHA-512"}}})
    assert (found.protocol, found.mechanism) == ("SASL_SSL", Mechanism.SCRAM_SHA_512)
    assert found.username == "krt-client"
    assert [key.file for key in found.keys] == [*CERTIFICATES, SecretFile.PASSWORD]


def test_security_of_a_referenced_cluster_is_that_of_its_reference() -> None:
    sasl = {"mechanism": "PLAIN", "secretRef": {"name": "user"}}
    found = of(kafkaRef={"security": {"sasl": sasl}})
    assert found.protocol == "SASL_PLAINTEXT"
    assert {key.secret for key in found.keys} == {"user"}


def test_security_without_user_keeps_certificates() -> None:
    found = of(kafka={"security": {"tls": {}, "sasl": {"mechanism": "PLAIN"}}})
    assert without_user(found).protocol == "SSL"
    assert without_user(Security()) == Security()


def test_login_shows_a_certificate_that_is_in_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    root = authority("root")
    client = certificate("client", root)
    texts = (root.pem, client.pem, client.key_pem)
    login = Login(of(kafka={"security": {"tls": {}}}), dict(zip(CERTIFICATES, texts, strict=True)))
    opened: list[str] = []

    def load(_context: object, path: str) -> None:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 (of a descriptor)
            opened.append(file.read())

    monkeypatch.setattr("ssl.SSLContext.load_cert_chain", load)
    login.ssl_context()
    assert opened == [client.key_pem + "\n" + client.pem]
    monkeypatch.undo()
    assert login.ssl_context() is not None
