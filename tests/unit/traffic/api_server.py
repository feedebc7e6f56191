"""A double of the API server over HTTP: each request gets the next answer of a script."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Answer:
    """What one request gets.

    Attributes:
        body: sent at once.
        status: HTTP status.
        breaks_off: whether the connection ends before the answer does.
        stays_open: whether the answer goes on in silence until the server stops.
    """

    body: bytes = b""
    status: int = 200
    breaks_off: bool = False
    stays_open: bool = False


@dataclass(frozen=True)
class Request:
    path: str
    query: dict[str, str]
    authorization: str | None


@dataclass
class ApiServer:
    """Serves answers in turn, then streams that stay open; keeps what was asked.

    Attributes:
        answers: what requests get in turn, whatever they ask for.
        by_kind: last part of a path → what requests for it get in turn, before ``answers``.
        requests: what was asked.
    """

    answers: list[Answer] = field(default_factory=list)
    by_kind: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._asked = threading.Condition()
        self._stopped = threading.Event()
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                double.answer(self)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        asked = Request(
            parts.path, dict(parse_qsl(parts.query)), handler.headers.get("Authorization")
        )
        with self._asked:
            script = self.by_kind.get(parts.path.rpartition("/")[2]) or self.answers
            answer = script.pop(0) if script else Answer(stays_open=True)
            self.requests.append(asked)
            self._asked.notify_all()
        handler.close_connection = True
        handler.send_response(answer.status)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        if answer.body:
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(answer.body), answer.body))
        if answer.stays_open:
            self._stopped.wait()
        if not answer.breaks_off:
            handler.wfile.write(b"0\r\n\r\n")

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on what was asked holds."""
        with self._asked:
            assert self._asked.wait_for(condition, 10), self.requests

    def stop(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()


def list_of(version: str, *items: dict[str, object]) -> Answer:
    return Answer(
        json.dumps({"metadata": {"resourceVersion": version}, "items": list(items)}).encode()
    )


def config_map(version: str, state: str = "Produce") -> dict[str, object]:
    return {"metadata": {"name": "t", "resourceVersion": version}, "data": {"state": state}}


def event(kind: str, item: dict[str, object]) -> bytes:
    # Unescaped, as a server of another language may write it.
    return json.dumps({"type": kind, "object": item}, ensure_ascii=False).encode() + b"\n"


def error_event(code: int) -> bytes:
    return event("ERROR", {"kind": "Status", "code": code, "message": "too old"})
