"""One connection to a Kafka node: a request, and its answer.

For requests that librdkafka's clients do not have, and that one node must answer itself. The
messages are those of ``kafka.protocol`` (kafka-python); this package needs none of it.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

TIMEOUT_SECONDS = 2.0
"""A node of a healthy quorum answers within milliseconds of the longest wait of a fetch, which is
0.25 s; a frozen one never does."""

MALFORMED = (ValueError, IndexError, struct.error)
"""What decoding raises of bytes that are no answer to a request."""

_LENGTH = struct.Struct(">i")


class Connection:
    """A TCP connection on which one request is answered before the next is sent.

    Args:
        address: ``host:port``.
        client_id: what the node calls this client in its logs and quotas.
        max_answer: bytes of an answer at most; a greater length is no answer of Kafka's.
        timeout: seconds to connect, and to wait for each part of an answer.
        context: of TLS; None for a connection in plaintext.

    Raises:
        OSError: nothing listens there, it did not answer in time, or its certificate is refused.
    """

    def __init__(
        self,
        address: str,
        client_id: str,
        max_answer: int,
        timeout: float = TIMEOUT_SECONDS,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._socket = open_socket(address, timeout, context)
        self._client_id, self._max_answer = client_id, max_answer
        self._requests = 0

    def close(self) -> None:
        """Close it; a thread that waits for an answer gets an ``OSError``."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def send(self, request: Any, response: Any, version: int) -> Any:
        """Send a request and return its answer.

        Args:
            request: a message of ``kafka.protocol``.
            response: the class of its answer.
            version: of both.

        Raises:
            OSError: the connection broke, or no answer came in time.
            ValueError, IndexError, struct.error: this is no answer to that request (``MALFORMED``).
        """
        self._requests += 1
        request.with_header(correlation_id=self._requests, client_id=self._client_id)
        self._socket.sendall(request.encode(version=version, header=True, framed=True))
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if not 0 < length <= self._max_answer:
            raise OSError(f"an answer of {length} bytes is none of Kafka's")
        return response.decode(self._read(length), version=version, header=True)

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            part = self._socket.recv(min(size - len(found), 1 << 16))
            if not part:
                raise ConnectionResetError("the node closed the connection")
            found += part
        return bytes(found)


def open_socket(
    address: str, timeout: float, context: ssl.SSLContext | None = None
) -> socket.socket:
    """Connect to a node; arguments and errors are those of `Connection`."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    plain = socket.create_connection((host, int(port)), timeout=timeout)
    if context is None:
        return plain
    try:
        return context.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise
