"""Why a cluster lets no client in.

librdkafka says that no broker answers, whatever the cause; its error callback knows more of a
password, and little of a certificate. What is left is asked of the listener itself, by a TLS
handshake that sends no data.
"""

from __future__ import annotations

import re
import ssl
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from krt_contract.kafka_connection import open_socket
from krt_contract.kafka_security import FIELD, SecretFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_contract.kafka_login import Login

AUTHENTICATION: Final = "_AUTHENTICATION"
"""Name of librdkafka's error for a user that a broker refuses."""

ALERT: Final = "tls alert"
"""In librdkafka's error where a broker ended TLS, as it does for a certificate of the client."""

HANDSHAKE_SECONDS: Final = 2.0
"""How long a listener may take for a handshake; within a data centre it is milliseconds."""

SASL: Final = f"{FIELD}.sasl"
TLS: Final = f"{FIELD}.tls"

UNKNOWN_ISSUER: Final = frozenset({18, 19, 20, 21})
"""Codes of OpenSSL: the chain of certificates ends in none that is trusted."""
WRONG_HOST: Final = frozenset({62, 64})
"""Codes of OpenSSL: the certificate is of another host name or address."""
EXPIRED: Final = 10

_WHERE: Final = re.compile(r"^\w+://([^/\s]+)/\S+ ")
_AFTER: Final = re.compile(r" \(after \d+ms in state \w+.*\)$")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why clients are not let in.

    Attributes:
        field: the field of the resource to look at.
        message: what happened, and the remedy.
    """

    field: str
    message: str


def find_refusal(errors: Iterable[tuple[str, str]], servers: str, login: Login) -> Refusal | None:
    """Return why a cluster lets no client in; None where it is not reached or all seems well.

    Args:
        errors: name and text of what librdkafka reported to its error callback.
        servers: ``host:port`` of the bootstrap servers, comma-joined.
        login: how the client logs in.
    """
    for name, text in errors:
        if name == AUTHENTICATION:
            return _user_refused(text, login)
        if ALERT in text:
            return _certificate_refused(text, login)
    for server in servers.split(","):
        try:
            refusal = tls_refusal(server, login)
        except OSError:
            continue
        if refusal is not None:
            return refusal
    return None


def brief(text: str) -> str:
    """Return an error of librdkafka without what changes from one attempt to the next."""
    return ": ".join(_parts(text))


def _user_refused(text: str, login: Login) -> Refusal:
    where, cause = _parts(text)
    key = login.security.key(SecretFile.PASSWORD)
    secret = "" if key is None else f" in Secret {key.secret}"
    return Refusal(
        SASL if key is None else key.field,
        f"authentication refused by {where} as user {login.user}: {cause}; correct user name and "
        f"password{secret}, or sasl.mechanism",
    )


def _certificate_refused(text: str, login: Login) -> Refusal:
    where, cause = _parts(text)
    key = login.security.key(SecretFile.CERTIFICATE)
    if key is None:
        return Refusal(
            TLS,
            f"{where} wants a certificate of the client ({cause}); name one in "
            "tls.certificateSecretRef, or a listener without",
        )
    return Refusal(
        key.field,
        f"{where} refuses the certificate of Secret {key.secret} ({cause}); use one that is valid "
        "and signed by a CA that the brokers trust",
    )


def tls_refusal(address: str, login: Login) -> Refusal | None:
    """Return why TLS with a listener fails; None where it does not.

    Args:
        address: ``host:port``.
        login: how the client logs in; without TLS, the listener must not want it either.

    Raises:
        OSError: the listener is not reached, or does not answer in time, as one that is frozen.
    """
    if not login.security.tls:
        return _wants_tls(address)
    try:
        with closing(open_socket(address, HANDSHAKE_SECONDS, login.ssl_context())):
            return None
    except ssl.SSLCertVerificationError as error:
        return _broker_not_trusted(address, error, login)
    except (ssl.SSLError, ConnectionResetError) as error:
        with closing(open_socket(address, HANDSHAKE_SECONDS)):
            cause = getattr(error, "reason", None) or str(error)
        return Refusal(
            TLS,
            f"{address} accepts a connection and no TLS ({cause}); leave tls out if this listener "
            "takes plaintext, or name the listener that takes TLS",
        )


def _broker_not_trusted(address: str, error: ssl.SSLCertVerificationError, login: Login) -> Refusal:
    key = login.security.key(SecretFile.CA)
    authorities = f"the CAs of Secret {key.secret}" if key else "the system's CAs"
    field = key.field if key else TLS
    if error.verify_code in UNKNOWN_ISSUER:
        return Refusal(
            field,
            f"certificate of {address} is not signed by {authorities} ({error.verify_message}); "
            "name the Secret with the CA of the brokers in tls.trustedCertificateSecretRef",
        )
    if error.verify_code in WRONG_HOST:
        return Refusal(
            "spec.kafkaRef.bootstrapServers",
            f"certificate of {address} is not of this host ({error.verify_message}); use a name "
            "that the certificate has, or add this one to the certificate",
        )
    remedy = (
        "renew it"
        if error.verify_code == EXPIRED
        else "check the broker's certificate and those that signed it"
    )
    return Refusal(
        TLS, f"certificate of {address} is not accepted: {error.verify_message}; {remedy}"
    )


def _wants_tls(address: str) -> Refusal | None:
    # No data is sent, and nothing is taken from the answer: whether it is TLS is all that counts.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with closing(open_socket(address, HANDSHAKE_SECONDS, context)):
            return Refusal(
                FIELD,
                f"{address} wants TLS; set security.tls, or name a listener that takes plaintext",
            )
    except (ssl.SSLError, ConnectionResetError):
        return None


def _parts(text: str) -> tuple[str, str]:
    """Return the listener that an error of librdkafka is of, and its cause."""
    found = _WHERE.match(text)
    where = found[1] if found else "the cluster"
    return where, _AFTER.sub("", text[found.end() :] if found else text)
