"""Records a second of our producer, ledger on, beside those of Kafka's own ProducerPerformance.

Both write to the same broker, in turn, with the same acks, record size, batch.size, linger.ms and
number of requests in flight. Ours is the traffic image's command, set to send as fast as it can
(recordsPerSecond 0): each send has its unique payload with a checksum, its delivery report and its
row in the ledger. Its rate is what was acknowledged, over first send to last acknowledgement.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from tests.contract.traffic.control_api import ControlApi
from tests.contract.traffic.local_kafka import LocalKafka, jars, missing
from tests.contract.traffic.pods import Pods, plan_document

TOPIC = "bench"
PARTITIONS = 3
IN_FLIGHT = "5"
RATE = re.compile(r"([\d.]+) records/sec")


def settings(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the settings of both clients, under the names they share."""
    return {
        "linger.ms": str(arguments.linger),
        "batch.size": str(arguments.batch),
        "max.in.flight.requests.per.connection": IN_FLIGHT,
    }


def run_kafkas_tool(kafka: LocalKafka, arguments: argparse.Namespace, records: int) -> float:
    """Return records a second of kafka-producer-perf-test."""
    properties = settings(arguments) | {
        "bootstrap.servers": kafka.bootstrap,
        "acks": arguments.acks,
        "enable.idempotence": "false",
    }
    command = ["java", "-Xmx512m", "-cp", f"{kafka.libs}/*"]
    command += ["org.apache.kafka.tools.ProducerPerformance", "--topic", TOPIC]
    command += ["--num-records", str(records), "--record-size", str(arguments.size)]
    command += ["--throughput", "-1", "--producer-props"]
    command += [f"{name}={value}" for name, value in properties.items()]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own command
    return float(RATE.findall(done.stdout.splitlines()[-1])[-1])


def run_producer(kafka: LocalKafka, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return records, seconds, CPU seconds and rate of one run of our producer."""
    api = ControlApi()
    producer = {
        "acks": arguments.acks,
        "recordsPerSecond": 0,
        "valueBytes": arguments.size,
        "config": settings(arguments),
    }
    pods = Pods(folder, api, plan_document(kafka, TOPIC, PARTITIONS, producer=producer))
    api.set("Produce")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = pods.start("producer", "main", "p1")
    time.sleep(arguments.seconds)
    api.set("StopProducing")
    if process.wait(120) != 0:
        raise RuntimeError(f"our producer failed:\n{pods.log('p1')}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    api.stop()
    first, last, acked = None, 0, 0
    for path in (pods.bundle / "produce").glob("*.parquet"):
        table = pq.read_table(path, columns=["sent_at", "done_at", "outcome"])
        acked += pc.sum(pc.equal(table["outcome"], "acked")).as_py()
        sent = pc.min(table["sent_at"]).as_py()
        first = sent if first is None else min(first, sent)
        last = max(last, pc.max(table["done_at"]).as_py())
    counts = pods.message("p1")["counts"]
    if acked != counts["attempted"]:
        raise RuntimeError(f"{acked} rows are acked, but {counts} were counted")
    seconds = (last - (first or 0)) / 1e6
    cpu = sum(after[:2]) - sum(before[:2])
    return {"records": acked, "seconds": seconds, "cpu": cpu, "rate": acked / seconds}


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="length of our rounds")
    parser.add_argument("--acks", default="all", choices=["all", "1"])
    parser.add_argument("--size", type=int, default=200, help="bytes of a value")
    parser.add_argument("--batch", type=int, default=65536, help="batch.size")
    parser.add_argument("--linger", type=int, default=5, help="linger.ms")
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    arguments = parser.parse_args()
    if (reason := missing()) is not None:
        raise SystemExit(f"no broker can be started: {reason}")
    print(f"acks={arguments.acks} size={arguments.size} {settings(arguments)}")
    rounds = []
    with tempfile.TemporaryDirectory(prefix="krt-bench-") as name:
        kafka = LocalKafka(Path(name) / "kafka", jars(), heap="1g")
        try:
            kafka.start()
            kafka.create_topic(TOPIC, PARTITIONS, **{"retention.bytes": str(256 << 20)})
            run_kafkas_tool(kafka, arguments, 200_000)  # warms the broker
            for number in range(arguments.rounds):
                mine = run_producer(kafka, arguments, Path(name) / f"run-{number}")
                theirs = run_kafkas_tool(kafka, arguments, mine["records"])
                rounds.append(mine | {"kafka": theirs, "ratio": mine["rate"] / theirs})
                print(
                    f"round {number + 1}: ours {mine['rate']:,.0f}/s "
                    f"({mine['cpu'] / mine['records'] * 1e6:.1f} µs CPU a record), "
                    f"kafka-producer-perf-test {theirs:,.0f}/s, "
                    f"ratio {rounds[-1]['ratio']:.2f}",
                    flush=True,
                )
        finally:
            kafka.stop()
    ratio = statistics.median(item["ratio"] for item in rounds)
    print(f"ratio (median of {len(rounds)} rounds): {ratio:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"ratio": ratio, "rounds": rounds}, indent=1))


if __name__ == "__main__":
    main()
