"""A small client of the Kubernetes API: list, watch and follow logs, over the standard library.

A generated client would cost each traffic pod more memory than its ledger; reads are all we do.
The token is read anew for every request, because the kubelet rotates it.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet projects the token and the API server's CA."""

CONNECT_TIMEOUT = 5.0
"""Seconds to connect and to wait for an answer's head; the API is in the same cluster."""

KEEPALIVE = ((socket.TCP_KEEPIDLE, 5), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 3))
"""A peer that vanished without a FIN is noticed within 5 + 2 * 3 = 11 s on an idle stream."""

HTTP_OK = 200


class ApiError(Exception):
    """The API answered with an error.

    Attributes:
        status: HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


@dataclass(frozen=True, slots=True)
class Api:
    """Where the API is and how to be let in.

    Attributes:
        url: scheme, host and port.
        token: file with the bearer token; None where a proxy authenticates for us.
        authority: file with the CA certificate; None for plain HTTP.
    """

    url: str
    token: Path | None = None
    authority: Path | None = None

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] = os.environ) -> Api:
        """Return the API of the pod's own cluster, or of KRT_API (as by ``kubectl proxy``).

        Raises:
            UnusableError: neither is named by the environment.
        """
        if url := variables.get("KRT_API"):
            return cls(url)
        host = variables.get("KUBERNETES_SERVICE_HOST")
        port = variables.get("KUBERNETES_SERVICE_PORT", "443")
        if not host:
            raise UnusableError(
                "KUBERNETES_SERVICE_HOST is not set: this runs in a pod of the cluster; outside "
                "one, set KRT_API to the address of `kubectl proxy`"
            )
        name = f"[{host}]" if ":" in host else host
        return cls(f"https://{name}:{port}", SERVICE_ACCOUNT / "token", SERVICE_ACCOUNT / "ca.crt")

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Return the object or list at ``path``.

        Raises:
            ApiError: the API refused.
            OSError: it could not be reached.
        """
        connection, response = self._request(path, query)
        try:
            return json.loads(response.read())  # type: ignore[no-any-return]
        finally:
            connection.close()

    def lines(self, path: str, **query: str) -> Stream:
        """Open an endless answer at ``path`` and return it line by line.

        Raises:
            ApiError: the API refused.
            OSError: it could not be reached.
        """
        connection, response = self._request(path, query)
        if connection.sock is not None:
            connection.sock.settimeout(None)
        return Stream(connection, response)

    def _request(
        self, path: str, query: Mapping[str, str]
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._connection()
        try:
            connection.connect()
            _keep_alive(connection)
            target = quote(path) + ("?" + urlencode(query) if query else "")
            connection.request("GET", target, headers=self._headers())
            response = connection.getresponse()
            _refuse_errors(response)
        except http.client.HTTPException as error:
            connection.close()
            raise ConnectionError(f"the API at {self.url} broke off: {error!r}") from error
        except BaseException:
            connection.close()
            raise
        return connection, response

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, parts.port, timeout=CONNECT_TIMEOUT)
        context = ssl.create_default_context(cafile=str(self.authority))
        return http.client.HTTPSConnection(
            host, parts.port, timeout=CONNECT_TIMEOUT, context=context
        )

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "krt-traffic"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token.read_text(encoding='ascii').strip()}"
        return headers


class Stream:
    """An answer that goes on; closing it from another thread ends the iteration."""

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        self._response = response
        # Kept apart: http.client drops its reference when the answer says "Connection: close".
        self._connection = connection
        self._socket = connection.sock

    def __iter__(self) -> Iterator[bytes]:
        """Yield lines without their ends until the server ends the answer.

        Raises:
            OSError: the connection broke.
        """
        try:
            while line := self._response.readline():
                yield line.rstrip(b"\r\n")
        except (http.client.HTTPException, ValueError, AttributeError) as error:
            # ValueError and AttributeError are what reading a response closed by close() gives.
            raise ConnectionError(f"the stream broke off: {error!r}") from error

    def close(self) -> None:
        """End the stream, also from another thread."""
        if self._socket is not None:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it had ended already

    def release(self) -> None:
        """Free the connection; only from the thread that reads."""
        self._response.close()
        self._connection.close()


def _refuse_errors(response: http.client.HTTPResponse) -> None:
    if response.status != HTTP_OK:
        raise ApiError(response.status, response.read(2000).decode("utf-8", "replace"))


def _keep_alive(connection: http.client.HTTPConnection) -> None:
    if connection.sock is None:
        return
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE:
        connection.sock.setsockopt(socket.IPPROTO_TCP, option, value)
