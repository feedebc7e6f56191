"""Certificates for tests: authorities, and what they sign."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence

DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Signed:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    chain: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> str:
        """The certificate, and those between it and its root."""
        found = (self.certificate, *self.chain)
        return "".join(one.public_bytes(serialization.Encoding.PEM).decode() for one in found)

    @property
    def key_pem(self) -> str:
        """The key in PKCS#8."""
        return self.key_in(serialization.PrivateFormat.PKCS8)

    def key_in(self, form: serialization.PrivateFormat) -> str:
        """The key in another form."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, form, serialization.NoEncryption()
        ).decode()


def authority(name: str, issuer: Signed | None = None) -> Signed:
    """A CA: a root, or one between a root and what it signs."""
    return _sign(name, issuer, ca=True)


def certificate(
    name: str,
    issuer: Signed,
    *,
    hosts: Sequence[str] = ("127.0.0.1",),
    days: int = 1,
) -> Signed:
    """A certificate of hosts or of a client; a negative number of days: it expired."""
    return _sign(name, issuer, ca=False, hosts=hosts, days=days)


def _sign(
    name: str, issuer: Signed | None, *, ca: bool, hosts: Sequence[str] = (), days: int = 1
) -> Signed:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 30 * DAY)
        .not_valid_after(now + days * DAY)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if hosts:
        names = [_host(host) for host in hosts]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    signed = builder.sign(key if issuer is None else issuer.key, hashes.SHA256())
    between = issuer is not None and issuer.certificate.issuer != issuer.certificate.subject
    chain = (issuer.certificate, *issuer.chain) if issuer is not None and between else ()
    return Signed(signed, key, chain)


def _host(host: str) -> x509.GeneralName:
    if host[0].isdigit():
        return x509.IPAddress(ipaddress.ip_address(host))
    return x509.DNSName(host)
