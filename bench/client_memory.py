"""What a Kubernetes client costs a traffic pod: memory and CPU of its import and of one open watch.

Each client runs in a fresh interpreter against a local TLS double of the API server
(kubernetes_double.py): it lists all pods, opens a watch and reads one event of each pod. Run as

    hack/uv run --frozen --with kr8s==0.20.15 python -m bench.client_memory

The decision that rests on the numbers is docs/decisions/0019-one-kubernetes-client.md.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 3
"""Interpreters a client is measured in; the median counts."""

ROLE_IMPORTS = "import confluent_kafka, pyarrow, pyarrow.parquet"
"""What a producer and a consumer import anyway; some of it is what a client needs, too."""


def http_client(kubeconfig: Path) -> Iterator[None]:
    """The standard library alone, as the hand-written client did it."""
    import http.client  # noqa: PLC0415 - what is imported here is what is measured
    import ssl  # noqa: PLC0415 - see above

    yield
    user = json.loads(kubeconfig.read_text(encoding="utf-8"))
    authority = user["clusters"][0]["cluster"]["certificate-authority"]
    port = int(user["clusters"][0]["cluster"]["server"].rpartition(":")[2])
    headers = {"Authorization": f"Bearer {user['users'][0]['user']['token']}"}
    path = "/api/v1/namespaces/test/pods"

    def get(target: str) -> http.client.HTTPResponse:
        context = ssl.create_default_context(cafile=authority)
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
        connection.request("GET", target, headers=headers)
        return connection.getresponse()

    listed = json.loads(get(path).read())["items"]
    watch = get(f"{path}?watch=1")
    seen = [json.loads(watch.readline()) for _ in listed]
    yield
    del listed, seen, watch


def lightkube(kubeconfig: Path) -> Iterator[None]:
    """Lightkube, with its own model of a pod."""
    from lightkube import Client, KubeConfig  # noqa: PLC0415 - see above
    from lightkube.resources.core_v1 import Pod  # noqa: PLC0415

    yield
    client = Client(KubeConfig.from_file(kubeconfig).get(), namespace="test")
    listed = list(client.list(Pod))
    watch = client.watch(Pod)
    seen = [next(watch) for _ in listed]
    yield
    del listed, seen, watch


def kubernetes(kubeconfig: Path) -> Iterator[None]:
    """The official client, its core API alone."""
    from kubernetes import config, watch  # noqa: PLC0415 - see above
    from kubernetes.client.api.core_v1_api import CoreV1Api  # noqa: PLC0415

    yield
    config.load_kube_config(str(kubeconfig))  # type: ignore[no-untyped-call]
    api = CoreV1Api()
    listed = api.list_namespaced_pod("test").items
    events = watch.Watch().stream(api.list_namespaced_pod, "test")  # type: ignore[no-untyped-call]
    seen = [next(events) for _ in listed]
    yield
    del listed, seen, events


def kr8s(kubeconfig: Path) -> Iterator[None]:
    """kr8s, by its synchronous interface."""
    import kr8s as client  # type: ignore[import-not-found]  # noqa: PLC0415 - see above
    from kr8s.objects import Pod  # type: ignore[import-not-found]  # noqa: PLC0415

    yield
    api = client.api(kubeconfig=str(kubeconfig), namespace="test")
    listed = list(Pod.list(api=api))
    watch = api.watch("pods", namespace="test")
    seen = [next(watch) for _ in listed]
    yield
    del listed, seen, watch


CLIENTS: dict[str, Callable[[Path], Iterator[None]]] = {
    "http.client": http_client,
    "lightkube": lightkube,
    "kr8s": kr8s,
    "kubernetes": kubernetes,
}


def rss() -> float:
    """Return this process's resident memory in MiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def cpu() -> float:
    """Return the seconds of CPU that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(name: str, kubeconfig: Path, *, role: bool) -> dict[str, float]:
    """Return what a client costs in this interpreter, in MiB and in seconds of CPU."""
    logging.disable(logging.CRITICAL)
    if role:
        exec(ROLE_IMPORTS)  # noqa: S102 - a constant of this file
    before, cpu_before = rss(), cpu()
    steps = CLIENTS[name](kubeconfig)
    next(steps)
    imported, cpu_after = rss(), cpu()
    next(steps)
    return {
        "import": imported - before,
        "watch": rss() - before,
        "total": rss(),
        "cpu": cpu_after - cpu_before,
    }


def in_fresh_interpreter(name: str, kubeconfig: Path, *, role: bool) -> dict[str, float]:
    """Measure a client in an interpreter of its own; the median of ROUNDS of them."""
    command = [
        sys.executable,
        "-m",
        "bench.client_memory",
        "--client",
        name,
        "--kubeconfig",
        str(kubeconfig),
    ]
    rounds = []
    for _ in range(ROUNDS):
        done = subprocess.run(  # noqa: S603 - this file's own command
            [*command, *(["--role"] if role else [])],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        )
        rounds.append(json.loads(done.stdout.splitlines()[-1]))
    return {key: sorted(item[key] for item in rounds)[ROUNDS // 2] for key in rounds[0]}


def main() -> None:
    """Print a table of all clients, or the numbers of one where ``--client`` names it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--client", choices=list(CLIENTS))
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--role", action="store_true", help="after the imports of a producer")
    options = parser.parse_args()
    if options.client:
        print(
            json.dumps(measure(options.client, options.kubeconfig, role=options.role)), flush=True
        )
        os._exit(0)  # a watch that is open, and a client's threads, would not end by themselves
    # Not at the top: what the measured interpreters have imported already would cost nothing.
    from bench.kubernetes_double import api_server  # noqa: PLC0415 - see above

    print("| client | beside | import MiB | with a watch MiB | process MiB | import CPU s |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder, api_server(Path(folder)) as kubeconfig:
        for role in (False, True):
            for name in CLIENTS:
                found = in_fresh_interpreter(name, kubeconfig, role=role)
                print(
                    f"| {name} | {'Kafka and Arrow' if role else 'nothing'} | {found['import']:.1f}"
                    f" | {found['watch']:.1f} | {found['total']:.1f} | {found['cpu']:.2f} |"
                )


if __name__ == "__main__":
    main()
