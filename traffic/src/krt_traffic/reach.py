"""Whether pods of the test reach every broker of a cluster that somebody else runs.

Clients connect to the address that a broker advertises (``advertised.listeners``). The bootstrap
server may answer and the owner's clients may work, while this namespace does not resolve that
address, or a NetworkPolicy blocks it. A producer would retry it for ever, without an error.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from krt_traffic.errors import UnusableError

log = logging.getLogger(__name__)

FIELD: Final = "spec.kafkaRef.bootstrapServers"
"""The field that errors name; the controller reads it from the termination message."""

METADATA_SECONDS: Final = 15.0
"""How long the bootstrap servers may take to answer: an election, and a first connection that is
tried again."""

CONNECT_SECONDS: Final = 5.0
"""How long a broker may take to accept a connection; within a data centre it is milliseconds."""


def check_reach(bootstrap: str) -> None:
    """Connect to every broker at the address that it advertises.

    Args:
        bootstrap: ``host:port`` of the bootstrap servers, comma-joined.

    Raises:
        UnusableError: no bootstrap server answered, or brokers did not accept a connection.
    """
    try:
        client = AdminClient(
            {"bootstrap.servers": bootstrap, "client.id": "krt-preflight"}, logger=log
        )
        metadata = client.list_topics(timeout=METADATA_SECONDS)
    except KafkaException as error:
        raise UnusableError(
            f"no broker at {bootstrap} answers pods of this namespace ({error.args[0].str()}); "
            "correct the addresses, name a listener that takes plaintext, or let NetworkPolicies "
            "pass",
            field=FIELD,
        ) from error
    failures = [
        f"broker {number} at {broker.host}:{broker.port} ({failure})"
        for number, broker in sorted(metadata.brokers.items())
        if (failure := _try(str(broker.host), int(broker.port or 0)))
    ]
    if failures:
        raise UnusableError(
            f"pods of this namespace do not reach {', '.join(failures)}; name a listener whose "
            "advertised.listeners they can resolve and connect to, or let NetworkPolicies pass",
            field=FIELD,
        )


def _try(host: str, port: int) -> str:
    """Connect; return why not, empty where the connection was accepted."""
    try:
        with contextlib.closing(socket.create_connection((host, port), CONNECT_SECONDS)):
            return ""
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
