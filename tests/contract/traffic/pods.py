"""The traffic image's command as processes of this machine, with the environment of a pod."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow.parquet as pq

from krt_contract.schemas import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.traffic.control_api import ControlApi
    from tests.contract.traffic.local_kafka import LocalKafka
    from tests.contract.traffic.local_secure import SecureKafka


def plan_document(
    kafka: LocalKafka | SecureKafka, topic: str, partitions: int, **traffic: Any
) -> dict[str, Any]:
    producer = {
        "name": "main",
        "topic": topic,
        "replicas": 1,
        "acks": "all",
        "enableIdempotence": False,
        "recordsPerSecond": 500,
        "valueBytes": 200,
        "keyCount": 6,
        "compression": "none",
        "config": {},
        **traffic.get("producer", {}),
    }
    consumer = {
        "name": "read",
        "topics": [topic],
        "group": f"group-{topic}",
        "commit": "AfterProcessing",
        "isolation": "read_committed",
        "config": {"session.timeout.ms": "6000"},
        **traffic.get("consumer", {}),
    }
    topics = [{"name": topic, "partitions": partitions, "replicationFactor": 1}]
    consumers = [consumer]
    if "output" in traffic:
        # What the reader reads is what the other consumer makes of the topic.
        topics.append({**topics[0], "name": f"{topic}-made"})
        output = {"topic": f"{topic}-made", "valueBytes": 200, "config": {}, **traffic["output"]}
        made = {"name": "make", "group": f"group-{topic}-make", "commit": "Transactional"}
        consumers.append({**consumer, **made, "output": output})
        consumer["topics"] = [f"{topic}-made"]
    return {
        "schemaVersion": 2,
        "run": {"namespace": "ns", "name": "t", "uid": "run-1", "seed": 42},
        "bundle": "ns/t/run-1",
        "bootstrap": kafka.bootstrap,
        "zookeeper": kafka.zookeeper,
        "members": [
            {"member": "kafka-0", "kind": "kafka", "ordinal": 0, "pod": "t-kafka-0-0"},
            {"member": "zk-0", "kind": "zookeeper", "ordinal": 0, "pod": "t-zk-0-0"},
        ],
        "topics": topics,
        "spec": {
            "timeouts": {"drain": traffic.get("drain", "40s")},
            "traffic": {"producers": [producer], "consumers": consumers},
        },
    }


@dataclass
class Pods:
    """Starts pods of one run and reads what they leave."""

    folder: Path
    api: ControlApi
    plan: dict[str, Any]
    secrets: Path | None = None

    started: ClassVar[list[subprocess.Popen[bytes]]] = []

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "plan.json").write_text(json.dumps(self.plan))

    @property
    def bundle(self) -> Path:
        return self.folder / "evidence" / str(self.plan["bundle"])

    def start(
        self, role: str, name: str, uid: str, replica: int = 0, metrics_port: int = 0
    ) -> subprocess.Popen[bytes]:
        variables = {
            "KRT_PLAN": str(self.folder / "plan.json"),
            "KRT_EVIDENCE": str(self.folder / "evidence"),
            "KRT_CONTROL": "t-control",
            "KRT_NAMESPACE": "ns",
            "KRT_TEST": "t",
            "KRT_TEST_UID": "run-1",
            "KRT_NAME": name,
            "KRT_REPLICA": str(replica),
            "KRT_POD": f"t-{role}-{name}-{replica}",
            "KRT_POD_UID": uid,
            "KRT_API": self.api.url,
            "KRT_TERMINATION_LOG": str(self.folder / f"{uid}.json"),
        }
        if self.secrets is not None:
            variables["KRT_KAFKA_SECRETS"] = str(self.secrets)
        if metrics_port:
            variables["KRT_METRICS_PORT"] = str(metrics_port)
        with (self.folder / f"{uid}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "krt_traffic", role],
                env={**os.environ, **variables},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.started.append(process)
        return process

    def message(self, uid: str) -> dict[str, Any]:
        return json.loads((self.folder / f"{uid}.json").read_text())  # type: ignore[no-any-return]

    def log(self, uid: str) -> str:
        return (self.folder / f"{uid}.log").read_text()

    def rows(self, table: str) -> list[dict[str, Any]]:
        files = sorted((self.bundle / table).glob("*.parquet"))
        return [
            row
            for file in files
            for row in pq.ParquetFile(file).read().cast(TABLES[table]).to_pylist()
        ]
