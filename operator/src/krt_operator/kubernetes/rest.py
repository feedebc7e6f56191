"""Authenticated JSON over HTTP to the API server, and the mapping of its answers to our errors.

The kubernetes client gives configuration, credentials (refreshed) and the connection pool. Its
generated classes are left alone: importing them costs 80 MiB, and objects here are plain JSON that
templates render, so validation is the API server's.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import urllib3
from kubernetes import config
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException

from krt_operator.errors import ConflictError, RefusedError, TransientError

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUEST_TIMEOUT: Final = (5.0, 30.0)
"""Seconds to connect and to read. An API server that needs longer is down for our purposes; the
pass ends and the next one asks again."""

POOL_SIZE: Final = 16
"""Connections kept: one a test that runs (8 by default) and as many for wake-ups."""

NOT_FOUND: Final = 404
CONFLICT: Final = 409
TOO_MANY_REQUESTS: Final = 429
REFUSED: Final = frozenset({400, 401, 403, 405, 413, 415, 422})


class NotFoundError(Exception):
    """HTTP 404; turned into None or False where that is an answer, never leaves this package."""


class TooManyRequestsError(TransientError):
    """HTTP 429: the API server is busy, or a disruption budget does not allow an eviction.

    Attributes:
        causes: reason to message, as the answer details them.
    """

    def __init__(self, told: str, causes: Mapping[str, str]) -> None:
        super().__init__(told)
        self.causes = causes


def load_configuration() -> Configuration:
    """The in-cluster service account where there is one, else the kubeconfig.

    Raises:
        kubernetes.config.ConfigException: neither is there.
    """
    configuration = Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except config.ConfigException:
        config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    configuration.connection_pool_maxsize = POOL_SIZE
    # Repeating is decided by the level-triggered loop, which looks again before it does anything.
    configuration.retries = False
    return configuration


class Rest:
    """One connection pool to one API server; safe to share between threads."""

    def __init__(self, configuration: Configuration) -> None:
        self._client = ApiClient(configuration)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Any:
        """Send one request and return the parsed answer.

        Raises:
            NotFoundError: HTTP 404.
            ConflictError: HTTP 409.
            RefusedError: HTTP 4xx that repeating does not mend.
            TooManyRequestsError: HTTP 429.
            TransientError: no answer, or HTTP 5xx.
        """
        headers = {
            "Accept": "application/json",
            "Content-Type": content_type,
            "User-Agent": "krt-operator",
        }
        self._client.update_params_for_auth(
            headers, [], ["BearerToken"], path, method, body, request_auth=None
        )
        url = self._client.configuration.host + path
        if query:
            url += "?" + urlencode(query)
        try:
            answer = self._client.call_api(
                method,
                url,
                header_params=headers,
                body=body,
                _request_timeout=REQUEST_TIMEOUT,
            )
            raw = answer.read()  # type: ignore[no-untyped-call]
        except (urllib3.exceptions.HTTPError, OSError, ApiException) as error:
            told = f"{method} {path}: the API server did not answer: {error}"
            raise TransientError(told) from error
        return _judge(method, path, answer.status, raw)


def _judge(method: str, path: str, status: int, raw: bytes) -> Any:
    try:
        parsed = json.loads(raw) if raw else {}
    except ValueError:
        parsed = {"message": raw[:200].decode(errors="replace")}
    if status < 300:  # noqa: PLR2004 - the definition of success in HTTP
        return parsed
    message = parsed.get("message", "") if isinstance(parsed, dict) else ""
    told = f"{method} {path}: HTTP {status}: {message}"
    if status == NOT_FOUND:
        raise NotFoundError(told)
    if status == CONFLICT:
        raise ConflictError(told)
    if status in REFUSED:
        raise RefusedError(told)
    if status == TOO_MANY_REQUESTS:
        raise TooManyRequestsError(told, _causes(parsed))
    raise TransientError(told)


def _causes(answer: Any) -> dict[str, str]:
    details = answer.get("details") if isinstance(answer, dict) else None
    found = (details or {}).get("causes") or []
    return {one.get("reason", ""): one.get("message", "") for one in found}
