"""Scores generated histories on a Kubernetes cluster, by the Job of a test.

    python -m bench.scoring.cluster 30 100 --executors 2 4 8

The Job, its pod template and its accounts are built by the controller's own code. The evidence is a
folder that every node mounts (`hack/up` mounts one). Spark's event log says what the tasks did.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from bench.scoring import tables
from bench.scoring.__main__ import (
    KIB_PER_MIB,
    MILLION,
    cache,
    cached,
    differences,
    write_head,
    write_row,
)
from bench.scoring.history import BUNDLE, PLAIN, RUN_UID
from krt_cli.installation import find_controllers
from krt_cli.kubectl import Kubectl
from krt_contract.bundle import Bundle
from krt_contract.control import ControlState
from krt_operator import names
from krt_operator.api.plan import Plan
from krt_operator.build import scoring, shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAMESPACE, NAME, _ = BUNDLE.split("/")
KUBECTL: Final = Kubectl(NAMESPACE)
ON_NODE: Final = "/evidence"
"""Where every node of the cluster of hack/up mounts the folder of the evidence."""

EVENTS: Final = "spark-events"
CONFIGURATION: Final = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.dir": f"file:/evidence/{EVENTS}",
    "spark.executor.processTreeMetrics.enabled": "true",
}
PULL_POLICY: Final = "IfNotPresent"
CONFIGURED_AT: Final = "/etc/krt/spark"
MIB: Final = 2**20
LONGEST_S: Final = 3600
"""Longest time in seconds that a scoring may take."""

HEAD = (
    "sends",
    "executors",
    "rules s",
    "executors' CPU s",
    "read B/record, files and cache",
    "shuffled B/record",
    "spilled MiB",
    "peak heap of an executor, MiB",
    "peak memory of an executor, MiB",
    "longest task s",
    "peak memory of the driver's Python, MiB",
)


@dataclass
class Work:
    """What the tasks of a scoring did, by Spark's event log.

    Attributes:
        cpu_ns: processor time of the executors.
        read, shuffled, spilled: bytes of files, of shuffles, and of memory written to disk.
        heap, resident: peak of the executor that had the highest, bytes.
        longest_ms: longest task.
    """

    cpu_ns: int = 0
    read: int = 0
    shuffled: int = 0
    spilled: int = 0
    heap: int = 0
    resident: int = 0
    longest_ms: int = 0

    def add(self, event: dict[str, Any]) -> None:
        """Add one task's end."""
        metrics, info = event.get("Task Metrics"), event["Task Info"]
        if metrics is None:
            return
        self.cpu_ns += metrics["Executor CPU Time"]
        self.read += metrics["Input Metrics"]["Bytes Read"]
        self.shuffled += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        self.spilled += metrics["Disk Bytes Spilled"]
        peaks = event["Task Executor Metrics"]
        self.heap = max(self.heap, peaks["JVMHeapMemory"])
        self.resident = max(self.resident, peaks["ProcessTreeJVMRSSMemory"])
        self.longest_ms = max(self.longest_ms, info["Finish Time"] - info["Launch Time"])


def bundle(sends: int) -> Path:
    """Return the bundle of a history, made where it is not in the cache, without lines of text."""
    with_lines = cache() / str(sends)
    if with_lines.exists():
        return with_lines / BUNDLE
    return cached(f"{sends}.tables", lambda folder: tables.generate(folder, sends)) / BUNDLE


def place(source: Path, evidence: Path) -> Bundle:
    """Put a bundle into the folder that the nodes mount, writable to the pods' group."""
    target = evidence / BUNDLE
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=os.link)
    (evidence / EVENTS).mkdir(exist_ok=True)
    for folder in (
        evidence / EVENTS,
        target,
        *(path for path in target.rglob("*") if path.is_dir()),
    ):
        folder.chmod(0o2777)
    return Bundle(target)


@dataclass(frozen=True)
class Request:
    """What a scoring is to have: heaps as Kubernetes writes them."""

    executors: int
    memory: str
    driver_memory: str

    def spec(self) -> dict[str, Any]:
        """Return it as ``spec.scoring``."""
        return {
            "executors": self.executors,
            "executor": {"memory": self.memory},
            "driver": {"memory": self.driver_memory},
        }


def objects(run_json: str, pulled: dict[str, str], request: Request) -> Iterator[Any]:
    """Yield what the Job needs, in order; none of it has an owner."""
    spec = {
        "topics": [{"name": PLAIN, "replicationFactor": 3}],
        "traffic": {
            "producers": [{"name": "p", "topic": PLAIN}],
            "consumers": [{"name": "c", "topics": [PLAIN], "group": "g"}],
        },
        "scoring": request.spec(),
        "evidence": {"claimName": "krt-evidence"},
    }
    plan = Plan(NAMESPACE, NAME, RUN_UID, 1, resolved_spec=spec, topics=(), images=pulled)
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    yield from shared.build_service_accounts(plan, "ClusterRole", {})
    plan_map = shared.build_plan_map(plan)
    plan_map["data"] = dict.fromkeys(plan_map["data"], run_json)
    scripts = shared.build_scripts_map(plan, PULL_POLICY)
    template = yaml.safe_load(scripts["data"]["executor.yaml"])
    _mount(template["spec"])
    scripts["data"]["executor.yaml"] = yaml.safe_dump(template)
    lines = "".join(f"{name} {value}\n" for name, value in CONFIGURATION.items())
    yield from (plan_map, shared.build_control_map(plan, ControlState.SCORE, bounds=[]), scripts)
    configured = {"name": "spark", "namespace": NAMESPACE}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": configured,
        "data": {"spark-defaults.conf": lines},
    }
    job = scoring.build_scoring_job(plan, 1, PULL_POLICY)
    pod = job["spec"]["template"]["spec"]
    _mount(pod)
    pod["volumes"].append({"name": "spark", "configMap": {"name": "spark"}})
    (driver,) = pod["containers"]
    driver["volumeMounts"].append({"name": "spark", "mountPath": CONFIGURED_AT})
    driver["env"].append({"name": "SPARK_CONF_DIR", "value": CONFIGURED_AT})
    job["spec"]["activeDeadlineSeconds"] = LONGEST_S
    yield job


def _mount(pod: dict[str, Any]) -> None:
    """Mount the nodes' folder instead of the claim."""
    for volume in pod["volumes"]:
        if volume["name"] == "evidence":
            volume.pop("persistentVolumeClaim")
            volume["hostPath"] = {"path": ON_NODE}


def run(
    evidence: Path, source: Path, pulled: dict[str, str], request: Request
) -> tuple[dict[str, Any], dict[str, Any], Work]:
    """Score a history by a Job; return its scorecard, scoring.json and the work of the tasks.

    Raises:
        SystemExit: the Job failed.
    """
    KUBECTL("delete", "namespace", NAMESPACE, "--ignore-not-found")
    shutil.rmtree(evidence / EVENTS, ignore_errors=True)
    placed = place(source, evidence)
    built = list(objects(placed.run_json.read_text(encoding="utf-8"), pulled, request))
    for item in built:
        item["metadata"].pop("ownerReferences", None)
    KUBECTL("apply", "-f", "-", stdin=yaml.safe_dump_all(built))
    job = f"job/{names.scoring_job(NAME, 1)}"
    deadline = time.monotonic() + LONGEST_S
    while True:
        status = KUBECTL.get(job).get("status", {})
        if status.get("succeeded"):
            break
        if status.get("failed") or time.monotonic() > deadline:
            sys.exit(KUBECTL("logs", job, "--tail=20"))
        time.sleep(1)
    work = Work()
    for event in _events(evidence / EVENTS):
        if event["Event"] == "SparkListenerTaskEnd":
            work.add(event)
    card = json.loads(placed.scorecard.read_text(encoding="utf-8"))
    return card, json.loads(placed.scoring.read_text(encoding="utf-8")), work


def _events(folder: Path) -> Iterable[dict[str, Any]]:
    for path in sorted(folder.rglob("events_*")):
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def main() -> None:
    """Score each size with each number of executors and print the table.

    Exits with 1 where a scorecard is not what was planted.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("millions", type=float, nargs="+", help="million sends")
    parser.add_argument("--executors", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--memory", default="1Gi", help="heap of an executor (1Gi)")
    parser.add_argument("--driver-memory", default="1Gi", help="heap of the driver (1Gi)")
    options = parser.parse_args()
    (controller,) = find_controllers(KUBECTL)
    evidence, pulled = Path(os.environ["KRT_EVIDENCE"]), controller.images
    write_head(HEAD)
    wrong = False
    for millions in options.millions:
        sends = int(millions * MILLION)
        source = bundle(sends)
        for executors in options.executors:
            request = Request(executors, options.memory, options.driver_memory)
            card, timed, work = run(evidence, source, pulled, request)
            records = card["ledger"]["attempted"] + card["ledger"]["deliveries"]
            write_row(
                (
                    f"{card['ledger']['attempted']:,}",
                    str(executors),
                    f"{timed['durations']['rules'] / 1e6:.1f}",
                    f"{work.cpu_ns / 1e9:.1f}",
                    f"{work.read / records:.1f}",
                    f"{work.shuffled / records:.1f}",
                    f"{work.spilled / MIB:.0f}",
                    f"{work.heap / MIB:.0f}",
                    f"{work.resident / MIB:.0f}",
                    f"{work.longest_ms / 1000:.1f}",
                    f"{timed['pythonPeakKib'] / KIB_PER_MIB:.0f}",
                )
            )
            for line in differences(sends, card, None):
                wrong = True
                sys.stderr.write(f"{sends:,} sends: {line}\n")
    KUBECTL("delete", "namespace", NAMESPACE, "--ignore-not-found")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
