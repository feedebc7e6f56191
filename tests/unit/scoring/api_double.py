"""An API server that answers by a script."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import httpx2
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import Cluster, Context, User
from lightkube.core.client import Client

Json = dict[str, Any]

API = SingleConfig(
    context_name="c",
    context=Context(cluster="c", namespace="ns"),
    cluster=Cluster(server="http://api"),
    user=User(),
)


class Api:
    """Answers each request with the next of a script, then with what was sent.

    Args:
        script: HTTP statuses, objects that are read, or exceptions of the transport.
        headers: of answers that refuse.
    """

    def __init__(
        self, *script: int | Exception | Json, headers: dict[str, str] | None = None
    ) -> None:
        self.script, self.headers = list(script), headers or {}
        self.sent: list[httpx2.Request] = []

    @property
    def requests(self) -> list[str]:
        """Paths of the requests."""
        return [request.url.path for request in self.sent]

    def connect(self) -> Client:
        return Client(config=API, transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        step = self.script.pop(0) if self.script else 200
        if isinstance(step, Exception):
            raise step
        if isinstance(step, dict):
            return httpx2.Response(HTTPStatus.OK, json=step)
        if step == HTTPStatus.OK:
            return httpx2.Response(step, json=json.loads(request.content))
        if step == HTTPStatus.BAD_GATEWAY:
            return httpx2.Response(step, text="<html>bad gateway</html>", headers=self.headers)
        status = {"kind": "Status", "code": step, "message": "refused"}
        return httpx2.Response(step, json=status, headers=self.headers)
