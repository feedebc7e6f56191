"""Whether pods of the test reach every broker of a cluster that somebody else runs.

Clients connect to the address that a broker advertises (``advertised.listeners``). The bootstrap
server may answer and the owner's clients may work, while this namespace does not resolve that
address, or a NetworkPolicy blocks it. A producer would retry it for ever, without an error.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from krt_contract.kafka_connection import open_socket
from krt_contract.kafka_login import PLAINTEXT
from krt_contract.kafka_refusal import find_refusal
from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from krt_contract.kafka_login import Login

log = logging.getLogger(__name__)

FIELD: Final = "spec.kafkaRef.bootstrapServers"
"""The field that errors name; the controller reads it from the termination message."""

METADATA_SECONDS: Final = 15.0
"""How long the bootstrap servers may take to answer: an election, and a first connection that is
tried again."""

CONNECT_SECONDS: Final = 5.0
"""How long a broker may take to accept a connection; within a data centre it is milliseconds."""


def check_reach(bootstrap: str, login: Login = PLAINTEXT) -> None:
    """Connect to every broker at the address that it advertises.

    Args:
        bootstrap: ``host:port`` of the bootstrap servers, comma-joined.
        login: how clients log in.

    Raises:
        UnusableError: no bootstrap server answered, the cluster lets nobody in, or brokers did not
            accept a connection.
    """
    errors: list[tuple[str, str]] = []
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "client.id": "krt-preflight",
        "error_cb": lambda error: errors.append((error.name(), error.str())),
        **login.client_settings(),
    }
    client = AdminClient(settings, logger=log)
    try:
        metadata = client.list_topics(timeout=METADATA_SECONDS)
    except KafkaException as error:
        client.poll(0)  # calls the error callback
        refusal = find_refusal(errors, bootstrap, login)
        if refusal is not None:
            raise UnusableError(refusal.message, field=refusal.field) from error
        raise UnusableError(
            f"no broker at {bootstrap} answers pods of this namespace ({error.args[0].str()}); "
            "correct the addresses, name a listener of the protocol that spec.kafkaRef.security "
            "says, or let NetworkPolicies pass",
            field=FIELD,
        ) from error
    failures = [
        f"broker {number} at {broker.host}:{broker.port} ({failure})"
        for number, broker in sorted(metadata.brokers.items())
        if (failure := _try(f"{broker.host}:{broker.port or 0}", login))
    ]
    if failures:
        raise UnusableError(
            f"pods of this namespace do not reach {', '.join(failures)}; name a listener whose "
            "advertised.listeners they can resolve and connect to, or let NetworkPolicies pass",
            field=FIELD,
        )


def _try(address: str, login: Login) -> str:
    """Connect; return why not, empty where the connection was accepted."""
    try:
        with contextlib.closing(open_socket(address, CONNECT_SECONDS, login.ssl_context())):
            return ""
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
