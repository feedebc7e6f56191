"""What may happen to a call to the API server, each as the client of the controller meets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_operator.errors import KrtError, TransientError
from krt_operator.kubernetes.rest import REQUEST_TIMEOUT, TOO_MANY_REQUESTS, read_answer

if TYPE_CHECKING:
    from tests.unit.operator.doubles.api_server import ApiServer, Disturbance, Request

RETRY_AFTER = 3


class Killed(BaseException):
    """The controller was killed here; it must not catch this."""


@dataclass(frozen=True)
class Kind:
    """A kind of disturbance.

    Attributes:
        name: for tables.
        disturb: what happens in place of the call.
        of_writes: whether it may happen to a write.
        of_reads: whether it may happen to a read.
        delays: whether it takes so long that a fault may be late, which the run then says.
    """

    name: str
    disturb: Disturbance
    of_writes: bool = True
    of_reads: bool = True
    delays: bool = False

    def concerns(self, request: Request) -> bool:
        """Whether it may happen to this call."""
        return self.of_writes if request.writes else self.of_reads


def _killed_before(_server: ApiServer, _request: Request) -> Any:
    raise Killed


def _killed_after(server: ApiServer, request: Request) -> Any:
    _carry_out(server, request)
    raise Killed


def _answer(status: int, message: str, *, carried_out: bool = False) -> Disturbance:
    def disturb(server: ApiServer, request: Request) -> Any:
        if carried_out:
            _carry_out(server, request)
        headers = {"Retry-After": str(RETRY_AFTER)} if status == TOO_MANY_REQUESTS else {}
        raw = f'{{"message": "{message}"}}'.encode()
        return read_answer(request.method, str(request), status, raw, headers)

    return disturb


def _no_answer(message: str, seconds: float, *, carried_out: bool = False) -> Disturbance:
    def disturb(server: ApiServer, request: Request) -> Any:
        if carried_out:
            _carry_out(server, request)
        server.world.elapse(seconds)
        raise TransientError(f"{request}: the API server did not answer: {message}")

    return disturb


def _stale(server: ApiServer, request: Request) -> Any:
    """Answer as if the last write of this kind had not been made."""
    world = server.world
    name, before = world.earlier.get(request.kind, ("", None))
    key = request.kind, name
    now = world.objects.get(key)
    _replace(world.objects, key, before)
    try:
        return server.serve(request)
    finally:
        _replace(world.objects, key, now)


def _replace(objects: dict[tuple[str, str], Any], key: tuple[str, str], value: Any) -> None:
    if value is None:
        objects.pop(key, None)
    else:
        objects[key] = value


def _carry_out(server: ApiServer, request: Request) -> None:
    try:
        server.serve(request)
    except KrtError:
        # What the server answers does not arrive.
        return


CONNECT, READ = REQUEST_TIMEOUT

KINDS = (
    Kind("killed before", _killed_before, of_reads=False),
    Kind("killed after", _killed_after, of_reads=False),
    Kind("409 conflict", _answer(409, "the object has been modified"), of_reads=False),
    Kind("429 with Retry-After", _answer(429, "too many requests")),
    Kind("500", _answer(500, "etcdserver: leader changed")),
    Kind("504, carried out", _answer(504, "request timed out", carried_out=True)),
    Kind("connect timeout", _no_answer("connect timed out", CONNECT)),
    Kind("connection reset", _no_answer("connection reset by peer", 0)),
    Kind(
        "read timeout, carried out",
        _no_answer("read timed out", READ, carried_out=True),
        of_reads=False,
        delays=True,
    ),
    Kind("stale read", _stale, of_writes=False),
    Kind("410 expired", _answer(410, "too old resource version"), of_writes=False),
)
BY_NAME = {kind.name: kind for kind in KINDS}
