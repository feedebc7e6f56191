"""A double of the Kubernetes API server on this machine: lists and watches a namespace's pods."""

from __future__ import annotations

import contextlib
import json
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PODS = 24
"""Pods of the double's only namespace: about what a test of the catalogue has."""

VERSION = {"resourceVersion": "1"}


class Double(BaseHTTPRequestHandler):
    """The two requests that the clients make, and the discovery that kr8s asks for."""

    protocol_version = "HTTP/1.1"
    pods: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        """Answer a list at once and a watch with one event a pod, then with silence."""
        path, _, query = self.path.partition("?")
        if not path.endswith("/pods"):
            self._answer(discovery(path))
        elif "watch=" not in query:
            self._answer(
                {"kind": "PodList", "apiVersion": "v1", "metadata": VERSION} | {"items": self.pods}
            )
        else:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for pod in self.pods:
                line = json.dumps({"type": "ADDED", "object": pod}).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            time.sleep(600)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Stay silent."""

    def _answer(self, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def discovery(path: str) -> dict[str, Any]:
    """Return what the API server says of the groups and resources it serves."""
    path = path.rstrip("/")
    if path.endswith("/version"):
        return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
    pods = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod"}
    return {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [pods | {"verbs": ["get", "list", "watch"], "shortNames": ["po"]}],
    }


def pod(number: int) -> dict[str, Any]:
    """Return a pod as an API server of a run gives it."""
    container = {
        "name": "kafka",
        "image": "registry/kafka:3.9.1",
        "env": [{"name": f"KRT_{name}", "value": "x" * 40} for name in range(12)],
        "resources": {"limits": {"memory": "1Gi"}, "requests": {"cpu": "250m", "memory": "1Gi"}},
        "volumeMounts": [
            {"name": f"volume-{name}", "mountPath": f"/krt/{name}"} for name in range(5)
        ],
    }
    state = {"running": {"startedAt": "2026-11-24T12:00:01Z"}}
    status = {
        "name": "kafka",
        "image": "i",
        "imageID": "i@sha256:0",
        "containerID": f"c://{number}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"kafka-{number}",
            "namespace": "test",
            "uid": f"uid-{number}",
            "resourceVersion": "2",
            "creationTimestamp": "2026-11-24T12:00:00Z",
            "labels": {f"kafkaresilience.dev/label-{name}": "value" for name in range(6)},
        },
        "spec": {"containers": [container], "nodeName": "node-1"},
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": "2026-11-24T12:00:01Z"}
                for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "containerStatuses": [
                status | {"ready": True, "restartCount": 0, "started": True, "state": state}
            ],
        },
    }


@contextlib.contextmanager
def api_server(folder: Path) -> Iterator[Path]:
    """Serve the double by TLS and yield the path of a kubeconfig (JSON is YAML) that names it."""
    certificate, key = folder / "ca.crt", folder / "ca.key"
    options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=double"
    options += f" -addext subjectAltName=IP:127.0.0.1 -days 2 -keyout {key} -out {certificate}"
    command = ["openssl", *options.split()]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - see above
    Double.pods = [pod(number) for number in range(PODS)]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Double)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"https://127.0.0.1:{server.server_address[1]}"
    cluster = {"server": address, "certificate-authority": str(certificate)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "double",
        "contexts": [
            {"name": "double", "context": {"cluster": "c", "user": "u", "namespace": "test"}}
        ],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
    }
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(document), encoding="utf-8")
    yield kubeconfig
    server.shutdown()
