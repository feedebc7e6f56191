"""List and watch of one object of each kind over plain HTTP: what kubectl proxy would give.

Scaffolding for tests that run the pods' command on this machine; the broker behind it is real.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class ControlApi:
    """Serves the object of each kind that ``put`` replaces; every watcher hears of it."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.versions: dict[str, list[dict[str, Any]]] = defaultdict(list)
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query)
                if "watch" in query:
                    api.watch(self, int(query["resourceVersion"][0]))
                else:
                    api.list(self)

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def set(self, state: str, end_offsets: dict[str, dict[str, int]] | None = None) -> None:
        data = {"state": state}
        if end_offsets is not None:
            data["endOffsets"] = json.dumps(end_offsets)
        self.put("configmaps", {"metadata": {"name": "t-control"}, "data": data})

    def put(self, kind: str, item: dict[str, Any]) -> None:
        """Replace the object of a kind, which is named by the plural of the API."""
        with self.changed:
            versions = self.versions[kind]
            metadata = {**item["metadata"], "resourceVersion": str(len(versions) + 1)}
            versions.append({**item, "metadata": metadata})
            self.changed.notify_all()

    def list(self, handler: BaseHTTPRequestHandler) -> None:
        with self.changed:
            versions = self.versions[kind_of(handler.path)]
            items, version = versions[-1:], str(len(versions))
        body = json.dumps({"metadata": {"resourceVersion": version}, "items": items}).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def watch(self, handler: BaseHTTPRequestHandler, seen: int) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while True:
            item = self.after(kind_of(handler.path), seen)
            seen += 1
            line = json.dumps({"type": "MODIFIED", "object": item}).encode() + b"\n"
            try:
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                handler.wfile.flush()
            except OSError:
                return

    def after(self, kind: str, seen: int) -> dict[str, Any]:
        with self.changed:
            self.changed.wait_for(lambda: len(self.versions[kind]) > seen)
            return self.versions[kind][seen]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def kind_of(path: str) -> str:
    """Return the plural that a request is about."""
    return urlsplit(path).path.rsplit("/", 1)[-1]
