"""Producers of a round: ours and those that come with Kafka, each with its rate and its cost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
from tests.contract.traffic.control_api import ControlApi
from tests.contract.traffic.local_kafka import wait_until
from tests.contract.traffic.pods import Pods, plan_document

from bench.processes import peak_kib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.contract.traffic.local_kafka import LocalKafka

TOPIC = "bench"
PARTITIONS = 3
RATE = re.compile(r"([\d.]+) records/sec")
POLL_S = 0.02
"""Seconds between looks at a process' memory, whose highest value the kernel keeps."""
LAST_LINE_BYTES = 4096
"""The last line of VerifiableProducer is shorter."""


@dataclass(frozen=True, slots=True)
class Load:
    """What every producer of a round is set to.

    Attributes:
        acks: all or 1.
        size: bytes of a value; VerifiableProducer cannot be told.
        settings: of the client, under the names that librdkafka and Java share.
    """

    acks: str
    size: int
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Cost:
    """One run of one producer.

    Attributes:
        records: acknowledged.
        rate: records a second, as the tool itself measures it.
        cpu: microseconds of processor time for each record, with the start of the process.
        peak: highest memory of the process, MiB.
    """

    records: int
    rate: float
    cpu: float
    peak: float


def run_ours(
    kafka: LocalKafka, load: Load, seconds: float, folder: Path, checkout: Path | None = None
) -> Cost:
    """Return the cost of our producer, from first send to last acknowledgement.

    Args:
        kafka: the broker.
        load: what it sends.
        seconds: how long it sends.
        folder: where its ledger and its log go.
        checkout: another checkout of the repository, whose producer is run instead.

    Raises:
        RuntimeError: it failed, or its rows are not what it counted.
    """
    api = ControlApi()
    producer = {
        "acks": load.acks,
        "recordsPerSecond": 0,
        "valueBytes": load.size,
        "config": dict(load.settings),
    }
    pods = Pods(folder, api, plan_document(kafka, TOPIC, PARTITIONS, producer=producer))
    api.set("Produce")
    with _sources(checkout):
        process = pods.start("producer", "main", "p1")
    # Its start counts for nothing: on a busy machine it takes longer than a round.
    wait_until("our producer sends", lambda: any((pods.bundle / "produce").glob("*.parquet")))
    time.sleep(seconds)
    api.set("StopProducing")
    cpu, peak = _wait(process, pods.folder / "p1.log")
    api.stop()
    first, last, acked = sys.maxsize, 0, 0
    for file in (pods.bundle / "produce").glob("*.parquet"):
        table = pq.read_table(file, columns=["sent_at", "done_at", "outcome"])
        acked += pc.sum(pc.equal(table["outcome"], "acked")).as_py()
        first = min(first, pc.min(table["sent_at"]).as_py())
        last = max(last, pc.max(table["done_at"]).as_py())
    counts = pods.message("p1")["counts"]
    if acked != counts["attempted"]:
        raise RuntimeError(f"{acked} rows are acked, but {counts} were counted")
    return Cost(acked, acked / (last - first) * 1e6, cpu / acked * 1e6, peak)


def run_performance(kafka: LocalKafka, load: Load, records: int, folder: Path) -> Cost:
    """Return the cost of ProducerPerformance (kafka-producer-perf-test): one value, no record kept.

    Raises:
        RuntimeError: it failed.
    """
    arguments = ["--topic", TOPIC, "--num-records", str(records), "--record-size", str(load.size)]
    properties = _properties(kafka, load) | {"acks": load.acks}
    arguments += ["--throughput", "-1", "--producer-props"]
    arguments += [f"{name}={value}" for name, value in properties.items()]
    out = folder / "performance.log"
    cpu, peak = _run_java(kafka, "ProducerPerformance", arguments, out)
    rate = float(RATE.findall(out.read_text().splitlines()[-1])[-1])
    return Cost(records, rate, cpu / records * 1e6, peak)


def run_verifiable(kafka: LocalKafka, load: Load, records: int, folder: Path) -> Cost:
    """Return the cost of VerifiableProducer: a JSON line for each acknowledgement, into a file.

    Raises:
        RuntimeError: it failed.
    """
    settings = folder / "verifiable.properties"
    settings.write_text(
        "".join(f"{name}={value}\n" for name, value in _properties(kafka, load).items())
    )
    arguments = ["--topic", TOPIC, "--max-messages", str(records), "--throughput", "-1"]
    arguments += ["--acks", "-1" if load.acks == "all" else load.acks]
    arguments += ["--bootstrap-server", kafka.bootstrap, "--producer.config", str(settings)]
    out = folder / "verifiable.jsonl"
    cpu, peak = _run_java(kafka, "VerifiableProducer", arguments, out)
    with out.open("rb") as lines:
        lines.seek(-min(LAST_LINE_BYTES, out.stat().st_size), os.SEEK_END)
        summary = json.loads(lines.read().splitlines()[-1])
    out.unlink()
    if summary["acked"] != records:
        raise RuntimeError(f"VerifiableProducer reports {summary} for {records} records")
    return Cost(records, float(summary["avg_throughput"]), cpu / records * 1e6, peak)


@contextmanager
def _sources(checkout: Path | None) -> Iterator[None]:
    """Have processes that are started within the block import from another checkout."""
    before = os.environ.get("PYTHONPATH")
    if checkout is not None:
        os.environ["PYTHONPATH"] = f"{checkout}/contract/src:{checkout}/traffic/src"
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH", None)
        if before is not None:
            os.environ["PYTHONPATH"] = before


def _properties(kafka: LocalKafka, load: Load) -> dict[str, str]:
    ours = {"bootstrap.servers": kafka.bootstrap, "enable.idempotence": "false"}
    return {**load.settings, **ours}


def _run_java(kafka: LocalKafka, tool: str, arguments: list[str], out: Path) -> tuple[float, float]:
    command = ["java", "-Xmx512m", "-cp", f"{kafka.libs}/*", f"org.apache.kafka.tools.{tool}"]
    with out.open("wb") as stream:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [*command, *arguments], stdout=stream, stderr=subprocess.STDOUT
        )
    return _wait(process, out)


def _wait(process: subprocess.Popen[bytes], log: Path) -> tuple[float, float]:
    """Return processor seconds and peak memory (MiB) of a process, when it has ended."""
    ended, peak = 0, 0
    while not ended:
        with suppress(OSError):
            peak = peak_kib(process.pid)
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        time.sleep(0 if ended else POLL_S)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{process.args!r} failed:\n{log.read_text()[-2000:]}")
    return used.ru_utime + used.ru_stime, peak / 1024
