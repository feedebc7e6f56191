"""Authenticated JSON over HTTP to the API server, and the mapping of its answers to our errors.

The kubernetes client provides configuration, credentials (refreshed) and the connection pool. Its
generated classes are not used: importing them costs 80 MiB, and objects here are plain JSON from
templates, which the API server validates.
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
"""Seconds to connect and to read. An API server that needs longer counts as unavailable: the pass
ends and the next one tries again."""

POOL_SIZE: Final = 16
"""Connections kept open: more than tests run at the same time (8 by default)."""

NOT_FOUND: Final = 404
CONFLICT: Final = 409
TOO_MANY_REQUESTS: Final = 429
REFUSED: Final = frozenset({400, 401, 403, 405, 413, 415, 422})


class NotFoundError(TransientError):
    """HTTP 404; turned into None or False where that is an answer.

    Elsewhere the namespace or the kind does not exist, which the next pass may find changed.
    """


class TooManyRequestsError(TransientError):
    """HTTP 429: the API server is busy, or a disruption budget does not allow an eviction.

    Attributes:
        causes: reason to message, as the answer details them.
    """

    def __init__(self, message: str, causes: Mapping[str, str], retry_after: float = 0.0) -> None:
        super().__init__(message, retry_after)
        self.causes = causes


def load_configuration() -> Configuration:
    """The in-cluster service account where there is one, else the kubeconfig.

    Raises:
        kubernetes.config.ConfigException: there is neither.
    """
    configuration = Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except config.ConfigException:
        config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    configuration.connection_pool_maxsize = POOL_SIZE
    # The level-triggered loop decides about retries: it reads again before it does anything.
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
            RefusedError: HTTP 4xx that a retry does not change.
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
            message = f"{method} {path}: the API server did not answer: {error}"
            raise TransientError(message) from error
        return read_answer(method, path, answer.status, raw, answer.headers)


def read_answer(method: str, path: str, status: int, raw: bytes, headers: Mapping[str, str]) -> Any:
    """The parsed body of an answer; raises as `Rest.call` says where it is no success."""
    try:
        parsed = json.loads(raw) if raw else {}
    except ValueError:
        parsed = {"message": raw[:200].decode(errors="replace")}
    if status < 300:  # noqa: PLR2004 - the definition of success in HTTP
        return parsed
    detail = parsed.get("message", "") if isinstance(parsed, dict) else ""
    message = f"{method} {path}: HTTP {status}: {detail}"
    if status == NOT_FOUND:
        raise NotFoundError(message)
    if status == CONFLICT:
        raise ConflictError(message)
    if status in REFUSED:
        raise RefusedError(message)
    if status == TOO_MANY_REQUESTS:
        raise TooManyRequestsError(message, _causes(parsed), _retry_after(headers))
    raise TransientError(message, _retry_after(headers))


def _causes(answer: Any) -> dict[str, str]:
    details = answer.get("details") if isinstance(answer, dict) else None
    found = (details or {}).get("causes") or []
    return {cause.get("reason", ""): cause.get("message", "") for cause in found}


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that the API server asks to wait; 0 where it asks for none."""
    value = headers.get("Retry-After") or ""
    return float(value) if value.isdecimal() else 0.0
