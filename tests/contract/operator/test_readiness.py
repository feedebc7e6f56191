"""Readiness of the whole controller, with Kopf, against a simulated API server."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from tests.ports import free_port

from krt_contract.labels import API_VERSION, GROUP, KIND, PLURAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_S = 60.0
RESOURCES = [
    {
        "name": name,
        "singularName": KIND.lower(),
        "kind": KIND,
        "namespaced": True,
        "verbs": ["get", "list", "watch", "patch", "delete"],
    }
    for name in (PLURAL, f"{PLURAL}/status")
]


class Api(BaseHTTPRequestHandler):
    """Discovery, an empty list and a watch without events; the CRD is there or not."""

    protocol_version = "HTTP/1.1"
    has_crd: ClassVar[bool] = True
    ended: ClassVar[threading.Event] = threading.Event()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if "watch" in query:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.ended.wait(PATIENCE_S)
            return
        group = {"name": GROUP, "preferredVersion": {"version": "v1alpha1"}}
        versions = [{"version": "v1alpha1"}]
        answers: dict[str, Any] = {
            "/version": {"gitVersion": "v1.34.2"},
            "/api": {"versions": ["v1"]},
            "/api/v1": {"resources": []},
            "/apis": {"groups": [group | {"versions": versions}] if self.has_crd else []},
        }
        if self.has_crd:
            answers[f"/apis/{API_VERSION}"] = {"resources": RESOURCES}
            answers[f"/apis/{API_VERSION}/{PLURAL}"] = {
                "metadata": {"resourceVersion": "1"},
                "items": [],
            }
        body = json.dumps(answers.get(path, {"kind": "Status", "code": 404})).encode()
        self.send_response(200 if path in answers else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def ask(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError as error:
        return 0, str(error)
    finally:
        connection.close()


@pytest.fixture(params=[True, False], ids=["with-crd", "without-crd"])
def controller(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[bool, int, int]]:
    """The controller, whether the CRD is there, and its ports for liveness and readiness."""
    handler = type("Handler", (Api,), {"has_crd": request.param, "ended": threading.Event()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [
            {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}
        ],
        "users": [{"name": "c", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    health, ready = free_port(), free_port()
    environment = {
        **os.environ,
        **{f"KRT_IMAGE_{name}": "image:1" for name in ("TRAFFIC", "SCORING", "KAFKA")},
        "KUBECONFIG": str(tmp_path / "config"),
        "KRT_HEALTH_PORT": str(health),
        "KRT_READY_PORT": str(ready),
        "KRT_METRICS_PORT": "0",
    }
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "krt_operator", "run"], env=environment, stdout=log, stderr=log
        )
        try:
            yield request.param, health, ready
        finally:
            handler.ended.set()  # type: ignore[attr-defined]
            process.terminate()
            process.wait()
            server.shutdown()


def test_controller_is_ready_exactly_if_it_watches_the_tests(
    controller: tuple[bool, int, int],
) -> None:
    has_crd, health, ready = controller
    expected = 200 if has_crd else 503
    until = time.monotonic() + PATIENCE_S
    status, words, live = 0, "", 0
    while time.monotonic() < until and (status, live) != (expected, 200):
        status, words = ask(ready, "/readyz")
        live, _ = ask(health, "/healthz")
        time.sleep(0.2)
    assert (status, live) == (expected, 200), words
    if not has_crd:
        assert "CRD was not installed" in words
