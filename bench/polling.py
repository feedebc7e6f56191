"""What a poll of the recorder costs: on the client's side, and on the broker's.

    python -m bench.polling [--polls 400]

Starts a real KRaft cluster of two brokers and three controllers on this machine, from the jars of
``hack/kafka-jars``, and polls one of the brokers as fast as it answers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from tests.contract.traffic.local_kraft import BROKERS, NEWEST, LocalKraft, lent

from krt_contract.kafka_connector import connector
from krt_contract.kafka_login import PLAINTEXT
from krt_traffic.recorder import CLIENT_ID
from krt_traffic.recorder.polling.requests import BrokerRequests

PARTITIONS = (12, 500)
"""Of the topic that is polled."""

TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print a line for each size of the topic."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--polls", type=int, default=400)
    polls = parser.parse_args().polls
    with tempfile.TemporaryDirectory() as folder, lent(Path(folder) / "kraft", NEWEST) as kraft:
        kraft.start()
        for partitions in PARTITIONS:
            measure(kraft, partitions, polls)


def measure(kraft: LocalKraft, partitions: int, polls: int) -> None:
    """Print the cost of polling a topic of so many partitions."""
    topic = f"foo-{partitions}"
    kraft.create_topic(topic, partitions)
    requests = BrokerRequests(BROKERS[0], kraft.brokers[0], connector(PLAINTEXT, CLIENT_ID))
    while len(requests.ask([topic]).partitions) < partitions:
        pass  # the broker has not heard of all of them
    pid = kraft.pid(BROKERS[0])
    client, broker, times = time.process_time(), cpu_seconds(pid), []
    for _ in range(polls):
        began = time.monotonic()
        requests.ask([topic])
        times.append((time.monotonic() - began) * 1000)
    client, broker = time.process_time() - client, cpu_seconds(pid) - broker
    requests.close()
    times.sort()
    print(
        f"{partitions} partitions: median {times[polls // 2]:.1f} ms, "
        f"p99 {times[polls * 99 // 100]:.1f} ms, of CPU {client / polls * 1000:.1f} ms here and "
        f"{broker / polls * 1000:.1f} ms in the broker"
    )


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
