"""Connections to nodes of the cluster, with a login where they want one.

By kafka-python's own implementation of SCRAM and PLAIN. Its client is not used, because it
chooses itself which broker answers. kafka-python is a dependency of the packages that use this
module, and not of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from krt_contract.kafka_connection import TIMEOUT_SECONDS, Connection
from krt_contract.kafka_security import Mechanism

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_contract.kafka_login import Login

    Connect = Callable[[str], Connection]
    """Connects to a broker at ``host:port``; raises OSError where that fails."""

MAX_ANSWER = 64 << 20
"""Bytes of an answer at most: a node may send one batch that exceeds what was asked for."""

VERSION = 1
"""Of both requests; every release from Kafka 1.0 on has it."""


def connector(login: Login, client_id: str, timeout: float = TIMEOUT_SECONDS) -> Connect:
    """Return what connects to a broker and logs in.

    Args:
        login: how; of a cluster in plaintext, a connection is all there is to it.
        client_id: what brokers call this client in their logs and quotas.
        timeout: seconds to connect, and to wait for each part of an answer.

    Raises:
        ssl.SSLError: a certificate or key does not parse.
    """
    context = login.ssl_context()

    def connect(address: str) -> Connection:
        connection = Connection(address, client_id, MAX_ANSWER, timeout, context)
        try:
            if login.security.mechanism is not None:
                authenticate(connection, login, login.security.mechanism)
        except BaseException:
            connection.close()
            raise
        return connection

    return connect


def authenticate(connection: Connection, login: Login, mechanism: Mechanism) -> None:
    """Prove to a broker who this is.

    Raises:
        PermissionError: the broker refuses the user, the password or the mechanism.
        OSError: no answer came.
        ValueError: the broker does not prove that it knows the password.
    """
    request = SaslHandshakeRequest(mechanism=str(mechanism), version=VERSION)
    shaken = connection.send(request, SaslHandshakeResponse, VERSION)
    if shaken.error_code:
        offered = ", ".join(shaken.mechanisms)
        raise PermissionError(f"the broker has no {mechanism}; it has {offered}")
    exchange = get_sasl_mechanism(str(mechanism))(
        sasl_mechanism=str(mechanism),
        sasl_plain_username=_name(login.user, mechanism),
        sasl_plain_password=login.password,
    )
    while not exchange.is_done():
        request = SaslAuthenticateRequest(auth_bytes=exchange.auth_bytes(), version=VERSION)
        answer = connection.send(request, SaslAuthenticateResponse, VERSION)
        if answer.error_code:
            raise PermissionError(f"the broker refuses user {login.user}: {answer.error_message}")
        exchange.receive(answer.auth_bytes)


def _name(user: str, mechanism: Mechanism) -> str:
    """Return a name as SCRAM writes it: commas and equals signs divide its messages."""
    if mechanism is Mechanism.PLAIN:
        return user
    return user.replace("=", "=3D").replace(",", "=2C")
