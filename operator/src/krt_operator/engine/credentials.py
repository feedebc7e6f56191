"""What the members and clients of a secured cluster have: a CA, certificates, a password. Pure.

Key of the CA and password follow from the installation's key and the test's uid. So whatever
controller takes the run over has them, and none needs the right to read Secrets of tests.
A certificate is signed wherever one is needed, since every one of the CA is as good.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

CURVE: Final = ec.SECP256R1()
ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Of the curve's group: a private key is a number from 1 to the one below it."""

SCALAR_BYTES: Final = 40
"""Bytes that are reduced to a private key: 64 bits more than the curve has, so that no key is more
likely than another (FIPS 186-5, A.2.1)."""

PASSWORD_BYTES: Final = 24
"""Of the password, which is 32 letters of base64 then; none of them is special to Java or SCRAM."""

VALIDITY: Final = timedelta(days=365)
"""Longer than any run: nothing renews a certificate."""

MAX_NAME: Final = 64
"""Characters of a common name (RFC 5280, ub-common-name)."""

SKEW: Final = timedelta(hours=1)
"""How far the clock of a node may be behind that of the controller."""


@dataclass(frozen=True)
class Certificate:
    """A certificate with its key, both in PEM.

    Attributes:
        certificate: signed by the CA.
        key: in PKCS#8; not shown by ``repr``.
    """

    certificate: str
    key: str = field(repr=False)


class Credentials:
    """What is made for one test.

    Args:
        root: the installation's key.
        uid: of the test.
        at: now.
    """

    def __init__(self, root: bytes, uid: str, at: datetime) -> None:
        self._root, self._uid, self._at = root, uid, at

    @cached_property
    def password(self) -> str:
        """The password of the user that clients log in as."""
        return base64.urlsafe_b64encode(self._derive("password", PASSWORD_BYTES)).decode()

    @cached_property
    def authority(self) -> str:
        """The certificate of the CA that members and clients trust."""
        key = self._key.public_key()
        builder = self._builder(self._issuer, key, x509.BasicConstraints(ca=True, path_length=0))
        usage = _usage(signs_certificates=True)
        return _pem(builder.add_extension(usage, critical=True).sign(self._key, hashes.SHA256()))

    def certificate(self, name: str, hosts: Sequence[str] = ()) -> Certificate:
        """Sign a certificate.

        Args:
            name: common name: who it is to an authorizer.
            hosts: DNS names of a server; none for a client.
        """
        key = ec.generate_private_key(CURVE)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        none = x509.BasicConstraints(ca=False, path_length=None)
        # Members are clients of each other.
        uses = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] * bool(hosts))]
        builder = (
            self._builder(subject, key.public_key(), none)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return Certificate(_pem(builder.sign(self._key, hashes.SHA256())), private.decode())

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        number = int.from_bytes(self._derive("ca", SCALAR_BYTES), "big")
        return ec.derive_private_key(number % (ORDER - 1) + 1, CURVE)

    @property
    def _issuer(self) -> x509.Name:
        name = f"kafka-resilience {self._uid}"[:MAX_NAME]
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    def _builder(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        constraints: x509.BasicConstraints,
    ) -> x509.CertificateBuilder:
        issuer = self._key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._at - SKEW)
            .not_valid_after(self._at + VALIDITY)
            .add_extension(constraints, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer), critical=False
            )
        )

    def _derive(self, purpose: str, length: int) -> bytes:
        info = f"kafka-resilience/{purpose}/{self._uid}".encode()
        return HKDF(hashes.SHA256(), length, salt=None, info=info).derive(self._root)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
