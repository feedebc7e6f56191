"""Whether the certificates of a login can be used, before a client is made with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from krt_contract.kafka_security import SecretFile
from krt_operator.engine.login import invalid

if TYPE_CHECKING:
    from datetime import datetime

    from krt_contract.kafka_login import Login
    from krt_contract.kafka_security import SecretKey

PKCS8: Final = "-----BEGIN PRIVATE KEY-----"
"""How a key begins that Java's clients read; PKCS#1 and SEC1 name the algorithm."""


def check_certificates(login: Login, at: datetime) -> None:
    """Refuse certificates and a key that do not parse, do not fit, or have expired.

    Args:
        login: has their texts.
        at: now.

    Raises:
        KafkaAccessError: SecretInvalid.
    """
    security = login.security
    for file in (SecretFile.CA, SecretFile.CERTIFICATE):
        key = security.key(file)
        if key is not None:
            _check_validity(key, _certificates(key, login.contents[file]), at)
    own, private = security.key(SecretFile.CERTIFICATE), security.key(SecretFile.PRIVATE_KEY)
    if own is not None and private is not None:
        certificate = _certificates(own, login.contents[SecretFile.CERTIFICATE])[0]
        _check_key(private, login.contents[SecretFile.PRIVATE_KEY], certificate)


def _certificates(key: SecretKey, text: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        raise invalid(key, "is no certificate in PEM") from None


def _check_validity(key: SecretKey, certificates: list[x509.Certificate], at: datetime) -> None:
    """A CA's bundle may have an old one next to the new; then the new one counts."""
    last = max(item.not_valid_after_utc for item in certificates)
    first = min(item.not_valid_before_utc for item in certificates)
    if key.file is SecretFile.CERTIFICATE:
        last, first = certificates[0].not_valid_after_utc, certificates[0].not_valid_before_utc
    if last < at:
        raise invalid(key, f"expired at {last:%Y-%m-%d %H:%M} UTC; renew it")
    if first > at:
        raise invalid(key, f"is not valid before {first:%Y-%m-%d %H:%M} UTC")


def _check_key(key: SecretKey, text: str, certificate: x509.Certificate) -> None:
    if PKCS8 not in text and "PRIVATE KEY-----" in text:
        raise invalid(
            key,
            "is encrypted, or in PKCS#1 or SEC1; Java's clients take PKCS#8 without a passphrase: "
            "set privateKey.encoding: PKCS8 in a Certificate of cert-manager, or convert it with "
            "openssl pkcs8 -topk8 -nocrypt",
        )
    try:
        private = serialization.load_pem_private_key(text.encode(), None)
    except (TypeError, ValueError, UnsupportedAlgorithm):
        raise invalid(key, "is no private key in PEM") from None
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    if private.public_key().public_bytes(*form) != certificate.public_key().public_bytes(*form):
        raise invalid(key, "is not the key of the certificate beside it")
