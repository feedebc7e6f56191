from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from krt_contract.errors import ContractError
from krt_contract.kafka_login import PLAINTEXT, Login
from krt_contract.kafka_security import Mechanism, SecretFile, SecretKey, Security

if TYPE_CHECKING:
    from pathlib import Path

CA = {"trustedCertificateSecretRef": {"name": "ca"}}
CLIENT = {
    "certificateSecretRef": {
        "name": "alice",
        "certificateKey": "user.crt",
        "privateKeyKey": "user.key",
    }
}
SASL = {"mechanism": "SCRAM-SHA-512", "secretRef": {"name": "user"}}
SECRET = "distinctive-Passw0rd"  # noqa: S105 - of a test


def of(**security: Any) -> Security:
    return Security.of({"kafkaRef": {"security": security}})


@pytest.mark.parametrize(
    ("security", "protocol"),
    [
        ({}, "PLAINTEXT"),
        ({"tls": {}}, "SSL"),
        ({"sasl": SASL}, "SASL_PLAINTEXT"),
        ({"tls": CA, "sasl": SASL}, "SASL_SSL"),
    ],
)
def test_protocol_follows_from_what_is_set(security: dict[str, Any], protocol: str) -> None:
    assert of(**security).protocol == protocol


def test_security_of_a_spec_without_a_reference_is_plaintext() -> None:
    assert Security.of({}) == Security()
    assert Security().java_settings("/etc/krt/kafka") == {}
    assert PLAINTEXT.client_settings() == {}
    assert PLAINTEXT.ssl_context() is None


def test_security_names_every_key_with_the_field_that_names_its_secret() -> None:
    field = "spec.kafkaRef.security"
    assert of(tls=CA | CLIENT, sasl=SASL).keys == (
        SecretKey(SecretFile.CA, "ca", "ca.crt", f"{field}.tls.trustedCertificateSecretRef"),
        SecretKey(SecretFile.CERTIFICATE, "alice", "user.crt", f"{field}.tls.certificateSecretRef"),
        SecretKey(SecretFile.PRIVATE_KEY, "alice", "user.key", f"{field}.tls.certificateSecretRef"),
        SecretKey(SecretFile.PASSWORD, "user", "password", f"{field}.sasl.secretRef"),
        SecretKey(SecretFile.USERNAME, "user", "username", f"{field}.sasl.secretRef"),
    )


def test_security_with_a_user_in_the_spec_takes_none_from_the_secret() -> None:
    security = of(sasl=SASL | {"username": "alice"})
    assert [key.file for key in security.keys] == [SecretFile.PASSWORD]
    assert Login(security, {SecretFile.PASSWORD: SECRET}).user == "alice"


def test_security_of_another_mechanism_is_refused() -> None:
    with pytest.raises(ContractError, match=r"sasl\.mechanism"):
        of(sasl=SASL | {"mechanism": "GSSAPI"})


def test_java_settings_have_paths_and_no_secret() -> None:
    assert of(tls=CA | CLIENT, sasl=SASL).java_settings("/etc/krt/kafka") == {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/etc/krt/kafka/ca.crt",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "${krt:/etc/krt/kafka:tls.crt}",
        "ssl.keystore.key": "${krt:/etc/krt/kafka:tls.key}",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="${krt:/etc/krt/kafka:username}" password="${krt:/etc/krt/kafka:password}";',
        "config.providers": "krt",
        "config.providers.krt.class": "org.apache.kafka.common.config.provider."
        "DirectoryConfigProvider",
    }


def test_login_module_fits_the_mechanism() -> None:
    settings = of(sasl=SASL | {"mechanism": "PLAIN"}).java_settings("/f")
    assert settings["sasl.jaas.config"].startswith(
        "org.apache.kafka.common.security.plain.PlainLoginModule required"
    )


def test_mounted_login_has_the_files_and_its_repr_has_no_secret(tmp_path: Path) -> None:
    for name, text in {"ca.crt": "CA", "username": "alice", "password": SECRET}.items():
        (tmp_path / name).write_text(text)
    login = Login.mounted(of(tls=CA, sasl=SASL), tmp_path)
    assert login.client_settings() == {
        "security.protocol": "SASL_SSL",
        "ssl.ca.pem": "CA",
        "sasl.mechanism": str(Mechanism.SCRAM_SHA_512),
        "sasl.username": "alice",
        "sasl.password": SECRET,
    }
    assert SECRET not in repr(login)
    assert SECRET not in str(login)


def test_mounted_login_without_a_file_names_secret_and_key(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="key password of Secret user, cannot be read"):
        Login.mounted(of(sasl=SASL | {"username": "alice"}), tmp_path)
