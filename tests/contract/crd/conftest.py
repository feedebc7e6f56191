"""A real API server with the CRD installed.

The CRD is installed under a group of its own, so that no controller of a cluster in use acts on
what these tests create. Two API servers will do: etcd and kube-apiserver from the tools cache,
started here on free ports; or else the kind cluster that `make up` built.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.tools import unavailable
from tests.ports import free_port

from krt_operator.api.crd import crd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
# For the table of cases beside this file: pytest's importlib mode puts nothing on the path.
sys.path.insert(0, str(ROOT))
GROUP = "contract.kafkaresilience.dev"
START_SECONDS = 90
"""An API server is ready within ten seconds on an idle machine, and this one seldom is."""


@dataclass(frozen=True)
class Answer:
    """What kubectl printed."""

    ok: bool
    text: str
    output: str

    def json(self) -> Any:
        return json.loads(self.output)


@dataclass(frozen=True)
class ApiServer:
    """Runs kubectl against one API server, in one namespace."""

    kubectl: str
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, body: Any = None) -> Answer:
        done = subprocess.run(
            [self.kubectl, *self.arguments, *arguments],
            input=None if body is None else json.dumps(body),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **self.environment},
        )
        return Answer(done.returncode == 0, done.stdout + done.stderr, done.stdout)

    def test(self, name: str, spec: Any, group: str = GROUP) -> dict[str, Any]:
        """Return a resource of a group under which the CRD is installed here."""
        return {
            "apiVersion": f"{group}/v1alpha1",
            "kind": "KafkaResilienceTest",
            "metadata": {"name": name},
            "spec": spec,
        }

    def admits(self, spec: Any, name: str = "probe") -> Answer:
        """Ask whether a resource with this spec would be created."""
        return self.run(
            "create", "--dry-run=server", "-o", "json", "-f", "-", body=self.test(name, spec)
        )


def cached(tool: str, name: str) -> Path | None:
    """Return a program of the tools cache, or None."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    cache = Path(os.environ.get("KRT_CACHE") or f"{home}/krt")
    return next(iter(sorted(cache.glob(f"tools/{tool}-*/bin/{name}"), reverse=True)), None)


@contextlib.contextmanager
def started(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def own_server(folder: Path, etcd: Path, apiserver: Path, kubectl: Path) -> Iterator[ApiServer]:
    client, peer, port = free_port(), free_port(), free_port()
    store = f"http://127.0.0.1:{client}"
    key = folder / "sa.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text("contract,contract,contract,system:masters\n")
    etcd_command = (
        *(str(etcd), "--data-dir", str(folder / "etcd"), "--log-level=error"),
        *("--listen-client-urls", store, "--advertise-client-urls", store),
        *("--listen-peer-urls", f"http://127.0.0.1:{peer}", "--unsafe-no-fsync"),
    )
    apiserver_command = (
        *(str(apiserver), f"--etcd-servers={store}", f"--cert-dir={folder / 'certs'}"),
        *(f"--secure-port={port}", "--bind-address=127.0.0.1", "--authorization-mode=AlwaysAllow"),
        *(
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--service-account-issuer=https://contract",
        ),
        *(f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}"),
        "--service-cluster-ip-range=10.0.0.0/24",
        "--disable-admission-plugins=ServiceAccount",
    )
    server = ApiServer(
        str(kubectl),
        (
            *(f"--server=https://127.0.0.1:{port}", "--token=contract"),
            *("--insecure-skip-tls-verify", f"--cache-dir={folder / 'discovery'}"),
        ),
    )
    log = folder / "kube-apiserver.log"
    with (
        started(folder / "etcd.log", *etcd_command),
        started(log, *apiserver_command) as process,
    ):
        until = time.monotonic() + START_SECONDS
        while not server.run("get", "--raw", "/readyz").ok:
            if process.poll() is not None or time.monotonic() > until:
                pytest.fail(f"kube-apiserver did not become ready:\n{log.read_text()[-2000:]}")
            time.sleep(0.5)
        yield server


@contextlib.contextmanager
def cluster_server() -> Iterator[ApiServer]:
    """The kind cluster, with a namespace for these tests."""
    exports = subprocess.run([ROOT / "hack/env"], capture_output=True, text=True, check=False)
    kubeconfig = next(
        (
            line.removeprefix("export KUBECONFIG=").strip("'\"")
            for line in exports.stdout.splitlines()
            if line.startswith("export KUBECONFIG=")
        ),
        "",
    )
    server = ApiServer("kubectl", (f"--kubeconfig={kubeconfig}",))
    if not kubeconfig or not server.run("get", "--raw", "/readyz").ok:
        unavailable(
            "no API server: neither kube-apiserver in the tools cache (hack/toolchain.sh "
            "kubernetes, hack/toolchain.sh etcd) nor a cluster (make up)"
        )
    namespace = f"krt-contract-{os.getpid()}"
    server.run("create", "namespace", namespace)
    try:
        yield ApiServer(server.kubectl, (*server.arguments, f"--namespace={namespace}"))
    finally:
        server.run("delete", "namespace", namespace, "--wait=false")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server that has the CRD."""
    etcd, apiserver = cached("etcd", "etcd"), cached("kubernetes", "kube-apiserver")
    kubectl = cached("kubernetes", "kubectl")
    with contextlib.ExitStack() as stack:
        if etcd and apiserver and kubectl:
            folder = tmp_path_factory.mktemp("apiserver")
            running = stack.enter_context(own_server(folder, etcd, apiserver, kubectl))
        else:
            running = stack.enter_context(cluster_server())
        install(running, definition_of(GROUP))
        yield running
        running.run("delete", f"crd/kafkaresiliencetests.{GROUP}", "--wait=false")


def definition_of(group: str) -> dict[str, Any]:
    """Return the CRD under another group."""
    definition: dict[str, Any] = copy.deepcopy(crd())
    definition["metadata"]["name"] = f"kafkaresiliencetests.{group}"
    definition["spec"]["group"] = group
    return definition


def install(server: ApiServer, definition: dict[str, Any]) -> None:
    """Apply a CRD and wait until it is served."""
    installed = server.run("apply", "--server-side", "-f", "-", body=definition)
    assert installed.ok, installed.text
    # Asked until it is served: `kubectl wait` fails on a CRD that has no conditions yet.
    ask_until(lambda: server.run("get", definition["metadata"]["name"]), ok=True)


def ask_until(ask: Callable[[], Answer], *, ok: bool) -> None:
    """Ask the API server again until it answers so."""
    until = time.monotonic() + START_SECONDS
    while (answer := ask()).ok != ok:
        assert time.monotonic() < until, answer.text
        time.sleep(0.2)
