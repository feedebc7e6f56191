"""Reads of the Kubernetes API: lists, watches and logs of one namespace.

lightkube gives configuration, authentication, TLS, requests and models. Its own watch loop and log
iterator are not used: they reconnect by themselves, and a gap in a watch is evidence here
(docs/decisions/0019-one-kubernetes-client.md).
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec
from lightkube.config.client_adapter import ConnectionParams, verify_cluster
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import Cluster, User
from lightkube.core.exceptions import ConfigError
from lightkube.core.generic_client import BasicRequest, GenericSyncClient
from lightkube.resources.core_v1 import PodLog

from krt_traffic.errors import UnusableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_traffic.kubernetes.objects import Object, WatchedObject

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Folder of the token and of the API server's CA, which the kubelet projects into each pod."""

TIMEOUT_SECONDS = 5.0
"""Seconds to connect and to wait for an answer's head; the API server is in the same cluster."""

KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)
"""A peer that vanished without a FIN is noticed within 5 + 2 * 3 = 11 s on an idle stream."""

LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
"""A connection for each request: streams stay open by the dozen, and a kept connection to an API
server that was restarted would fail the request that uses it."""

UNCOMPRESSED = {"Accept-Encoding": "identity"}
"""A compressed stream would be held back until its compressor's block is full."""

ERROR_BYTES = 2000
"""What is kept of an error's body that is not a Status object."""


class ApiError(Exception):
    """The API server answered with an error.

    Attributes:
        status: HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class KubernetesClient:
    """A client of the API server for the objects of one namespace; its threads may share it.

    Args:
        config: the API server and how to authenticate with it.
        namespace: namespace of the run.
    """

    def __init__(self, config: SingleConfig, namespace: str) -> None:
        user = config.user or User()
        transport = httpx2.HTTPTransport(
            verify=verify_cluster(config.cluster, user, config.abs_file),
            limits=LIMITS,
            socket_options=KEEPALIVE,
        )
        parameters = ConnectionParams(timeout=httpx2.Timeout(TIMEOUT_SECONDS), transport=transport)
        self._server = config.cluster.server
        self._client = GenericSyncClient(parameters, config, namespace=namespace)

    @classmethod
    def from_environment(
        cls, namespace: str, variables: Mapping[str, str] = os.environ
    ) -> KubernetesClient:
        """Return a client of the pod's own cluster, or of KRT_API (as by ``kubectl proxy``).

        Raises:
            UnusableError: this process runs in no pod, and KRT_API is not set.
        """
        try:
            config = _config(variables.get("KRT_API"))
        except (ConfigError, KeyError) as error:
            raise UnusableError(
                f"no service account of a pod was found ({error}); outside a cluster, set KRT_API "
                "to the address of `kubectl proxy`"
            ) from error
        return cls(config, namespace)

    def list(self, resource: type[Object], selector: Mapping[str, str]) -> tuple[list[Object], str]:
        """Return the objects that ``selector`` chooses, and the resource version of the list.

        Args:
            resource: class of the objects.
            selector: the query parameters ``labelSelector`` or ``fieldSelector``.

        Raises:
            ApiError: the API server refused.
            OSError: it could not be reached, or its answer is not a list.
        """
        request = self._client.prepare_request("list", resource, params=dict(selector))
        response = self._send(request, stream=False)
        try:
            _, version, items = self._client.handle_response("list", response, request)
        except msgspec.DecodeError as error:
            raise ConnectionError(f"the answer of {self._server} is not a list: {error}") from error
        return items, version or ""

    def watch(self, resource: type[WatchedObject], **parameters: str) -> Stream:
        """Open a watch and return its events, an object of JSON in each line.

        Args:
            resource: class of the objects.
            parameters: query parameters of the watch.

        Raises:
            ApiError: the API server refused.
            OSError: it could not be reached.
        """
        return self._stream(
            self._client.prepare_request("list", resource, watch=True, params=dict(parameters))
        )

    def log(self, pod: str, **parameters: str) -> Stream:
        """Open a pod's log and return its lines; parameters and errors as for ``watch``."""
        return self._stream(
            self._client.prepare_request("get", PodLog, name=pod, params=dict(parameters))
        )

    def _stream(self, request: BasicRequest) -> Stream:
        request.headers = dict(UNCOMPRESSED)
        response = self._send(request, stream=True)
        # The answer has begun; from here on silence is no fault.
        response.request.extensions["timeout"]["read"] = None
        return Stream(response)

    def _send(self, request: BasicRequest, *, stream: bool) -> httpx2.Response:
        try:
            response: httpx2.Response = self._client.send(
                self._client.build_adapter_request(request), stream=stream
            )
            if response.status_code != httpx2.codes.OK:
                try:
                    raise ApiError(response.status_code, _message(response.read()))
                finally:
                    response.close()
        except httpx2.TransportError as error:
            raise ConnectionError(f"request to {self._server} failed: {error!r}") from error
        return response


class Stream:
    """An answer without an end, line by line; ``close`` from another thread ends the iteration."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._socket: Any = response.extensions["network_stream"].get_extra_info("socket")

    def __iter__(self) -> Iterator[bytes]:
        r"""Yield lines without their ends until the server ends the answer.

        Lines end with "\n" alone: what else Unicode calls a line's end may be within one.

        Raises:
            OSError: the connection broke.
        """
        begun: list[bytes] = []
        try:
            for chunk in self._response.iter_bytes():
                *ended, rest = chunk.split(b"\n")
                for line in ended:
                    begun.append(line)
                    yield b"".join(begun).rstrip(b"\r")
                    begun.clear()
                if rest:
                    begun.append(rest)
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise ConnectionError(f"the stream broke off: {error!r}") from error
        if begun:
            yield b"".join(begun).rstrip(b"\r")

    def close(self) -> None:
        """End the stream, also from another thread."""
        with contextlib.suppress(OSError):  # it had ended already
            self._socket.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """Free the connection; only from the thread that reads."""
        self._response.close()


def _config(url: str | None) -> SingleConfig:
    loaded = (
        KubeConfig.from_one(cluster=Cluster(server=url), user=User())
        if url
        else KubeConfig.from_service_account(SERVICE_ACCOUNT)
    )
    config = loaded.get()
    if config is None:
        raise ConfigError("it names no cluster")
    return config


def _message(body: bytes) -> str:
    """Return what an answer with an error says: a Status object's message, or the text."""
    try:
        message = msgspec.json.decode(body, type=dict[str, Any]).get("message")
    except msgspec.DecodeError:
        message = None
    return str(message) if message else body[:ERROR_BYTES].decode("utf-8", "replace")
