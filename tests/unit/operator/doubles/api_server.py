"""The API server in front of a world: paths, verbs and status codes, as the client meets them.

A test may disturb a call: `tests/unit/operator/disturbed` has how.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.unit.operator.doubles.kubelets import NAMESPACE

from krt_operator.engine.progress import Deletion
from krt_operator.kubernetes.kinds import KINDS
from krt_operator.kubernetes.rest import NotFoundError, Rest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.unit.operator.doubles.world import World

    Disturbance = Callable[["ApiServer", "Request"], Any]
    """Answers a call in place of `ApiServer.serve`."""

PATHS = {
    kind: re.compile(
        rf"{place.root}(?:/namespaces/(?P<namespace>[^/]+))?/{place.plural}"
        r"(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
    )
    for kind, place in KINDS.items()
}
READS = frozenset({"GET"})


@dataclass(frozen=True)
class Request:
    """One call."""

    method: str
    kind: str
    namespace: str
    name: str
    sub: str
    labels: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    @property
    def writes(self) -> bool:
        """Whether the call changes something."""
        return self.method not in READS and "dryRun" not in self.query

    def __str__(self) -> str:
        """Return the call as a line of a log."""
        path = "/".join(part for part in (self.kind, self.name, self.sub) if part)
        return f"{self.method} {path}"


class ApiServer(Rest):
    """Serves a world; counts the calls and disturbs those that a test names."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.served = 0
        self.log: list[Request] | None = None
        """Every call, where a test asks for it."""
        self.disturbances: dict[int, Disturbance] = {}
        """Number of a call, from 1, to what happens to it."""

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Any:
        """Serve one call, or disturb it."""
        del content_type
        request = _parse(method, path, query or {}, body)
        self.served += 1
        if self.log is not None:
            self.log.append(request)
        disturbance = self.disturbances.pop(self.served, None)
        return self.serve(request) if disturbance is None else disturbance(self, request)

    def serve(self, request: Request) -> Any:
        """Do what the call asks for."""
        if request.method == "GET":
            return self._get(request)
        if request.sub:
            return self._subresource(request)
        return self._write(request)

    def _get(self, request: Request) -> Any:
        if not request.name:
            return {"items": list(self.world.list(request.kind, request.labels))}
        found = self.world.get(request.kind, request.name)
        if found is None:
            raise NotFoundError(f"HTTP 404: {request}")
        return found

    def _write(self, request: Request) -> Any:
        world, body = self.world, request.body
        match request.method:
            case "POST" if "dryRun" in request.query:
                return world.check_create(body)
            case "POST":
                return world.emit(body) if request.kind == "Event" else world.create(body)
            case "PATCH" if request.kind == "Pod" and "spec" not in body:
                meta = body["metadata"]
                return world.annotate_pod(request.name, meta["uid"], meta["annotations"])
            case "PATCH":
                return world.apply(body)
            case _:
                uid, grace = _options(body)
                return world.delete(Deletion(request.kind, request.name, uid, grace))

    def _subresource(self, request: Request) -> Any:
        world, body = self.world, request.body
        match request.sub:
            case "status":
                return world.write_status(body)
            case "eviction":
                uid, grace = _options(body["deleteOptions"])
                return world.evict(Deletion("Pod", request.name, uid, grace))
            case _:
                (container,) = body["spec"]["ephemeralContainers"]
                uid = body["metadata"]["uid"]
                return world.add_ephemeral_container(request.name, uid, container)


def _options(body: Any) -> tuple[str | None, int | None]:
    return body.get("preconditions", {}).get("uid"), body.get("gracePeriodSeconds")


def _parse(method: str, path: str, query: Mapping[str, str], body: Any) -> Request:
    selector = query.get("labelSelector", "")
    labels = dict(pair.split("=", 1) for pair in selector.split(",") if pair)
    for kind, pattern in PATHS.items():
        found = pattern.fullmatch(path)
        if found is not None:
            parts = found.groupdict(default="")
            namespace = parts["namespace"]
            assert namespace in {"", NAMESPACE}, f"{method} in namespace {namespace}"
            return Request(
                method, kind, namespace, parts["name"], parts["sub"], labels, query, body
            )
    raise AssertionError(f"no kind at {path}")
