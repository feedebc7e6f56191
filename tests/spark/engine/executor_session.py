"""A driver in client mode whose executor runs beside it: ``python executor_session.py KEEP|DROP``.

The API server is a double that answers what Spark asks while it starts one executor, keeps what
was asked, and runs the pod's container as a process, with or without the secret that Spark put
into its environment. The executor is the image's own program.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from krt_scoring.engine import executor_files, executors, kubernetes_pods, session
from krt_scoring.errors import NoExecutorsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXECUTOR = Path(__file__).parents[3] / "hack/images/spark/executor"
SECRET = "_SPARK_AUTH_SECRET"  # noqa: S105 (a variable's name)
ADDRESS = "127.0.0.1"
TABLE = "ns/test/uid/produce/p-0-u-000000.parquet"
REGISTRATION_SECONDS = 90
"""Long enough for a JVM to start on a busy machine; an executor that ends is noticed before."""


class Asked:
    """What Spark asked of the API server, and the executors that it started."""

    def __init__(self, *, keep: bool) -> None:
        self.keep = keep
        self.calls: set[tuple[str, str]] = set()
        self.secret = False
        self.started = threading.Event()
        self.ended: int | None = None
        self.processes: list[subprocess.Popen[bytes]] = []
        self.directory = Path(tempfile.mkdtemp())


class Api(BaseHTTPRequestHandler):
    """The part of the Kubernetes API that Spark needs."""

    def __init__(self, asked: Asked, *args: Any) -> None:
        self.asked = asked
        super().__init__(*args)

    def do_GET(self) -> None:
        path = self._record()
        if path.endswith("/pods/driver"):
            meta = {"name": "driver", "namespace": "ns", "uid": "driver"}
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            self._reply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": ready})
        else:
            self._reply({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": []})

    def do_POST(self) -> None:
        self._record()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body["metadata"] |= {"uid": body["metadata"]["name"], "resourceVersion": "1"}
        if body["kind"] == "Pod":
            self._start(body)
        self._reply(body)

    def do_DELETE(self) -> None:
        self._record()
        self._reply({"apiVersion": "v1", "kind": "Status", "status": "Success"})

    def log_message(self, *_: object) -> None:
        return

    def _record(self) -> str:
        path = self.path.split("?")[0]
        self.asked.calls.add((self.command, path.split("/")[5]))
        return path

    def _reply(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _start(self, pod: dict[str, Any]) -> None:
        fields = {"status.podIP": ADDRESS, "metadata.name": pod["metadata"]["name"]}
        environment = {
            entry["name"]: entry.get("value") or fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
            for entry in pod["spec"]["containers"][0]["env"]
        }
        self.asked.secret = SECRET in environment
        if not self.asked.keep:
            environment.pop(SECRET)
        environment |= {
            "SPARK_LOCAL_DIRS": tempfile.mkdtemp(),
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            # An executor that is refused waits for its answer: two minutes by default.
            "JAVA_TOOL_OPTIONS": "-Dspark.rpc.askTimeout=20s",
        }
        self.asked.processes.append(
            subprocess.Popen(
                ["bash", EXECUTOR], env={**os.environ, **environment}, cwd=self.asked.directory
            )
        )
        self.asked.started.set()


def settings(port: int) -> dict[str, str]:
    """Return the settings of the Job, but for what is of a pod."""
    template = Path(tempfile.mkdtemp()) / "pod.yaml"
    template.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: executor}\n"
        "spec: {containers: [{name: executor}]}\n"
    )
    cluster = kubernetes_pods.ClusterSettings(
        namespace="ns",
        pod="driver",
        pod_ip=ADDRESS,
        image="image",
        pull_policy="Never",
        executors=1,
        pod_template=str(template),
        prefix="t-scoring-1",
        executor_cpu="100m",
        driver_memory_mib=480,
        executor_memory_mib=480,
    )
    own = session.kubernetes_settings(cluster, 1_000)
    # There is no service account here; nor are ports of this machine free for certain.
    of_a_pod = (".port", ".caCertFile", ".oauthTokenFile")
    kept = {key: value for key, value in own.items() if not key.endswith(of_a_pod)}
    return kept | {"spark.master": f"k8s://http://{ADDRESS}:{port}"}


def _send(spark: SparkSession) -> None:
    directory = Path(tempfile.mkdtemp())
    (directory / TABLE).parent.mkdir(parents=True)
    (directory / TABLE).write_text("rows")
    executor_files.send(spark, directory, [directory / TABLE])


def main(*, keep: bool) -> dict[str, Any]:
    """Start a driver and its executor; return what came of it."""
    asked = Asked(keep=keep)
    api = ThreadingHTTPServer((ADDRESS, 0), partial(Api, asked))
    threading.Thread(target=api.serve_forever, daemon=True).start()
    conf = settings(api.server_port)
    if not keep:
        # The driver would wait so long for an executor that never comes; what follows waits itself.
        conf["spark.scheduler.maxRegisteredResourcesWaitingTime"] = "1s"
    spark = session._start(conf.pop("spark.master"), conf)  # noqa: SLF001 (another master)
    registered, rows, copied = True, 0, ""
    try:
        if keep:
            executors.wait(spark, 1, REGISTRATION_SECONDS)
            _send(spark)
            rows = spark.range(1000).repartition(2).count()
            copied = (asked.directory / TABLE).read_text()
        else:
            asked.started.wait(REGISTRATION_SECONDS)
            asked.ended = asked.processes[0].wait(REGISTRATION_SECONDS)
            executors.wait(spark, 1, 0)
    except NoExecutorsError:
        registered = False
    spark.stop()
    for process in asked.processes:
        process.kill()
    return {
        "registered": registered,
        "rows": rows,
        "copied": copied,
        "secret": asked.secret,
        "ended": asked.ended,
        "calls": sorted(asked.calls),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(keep=sys.argv[1] == "KEEP")))
