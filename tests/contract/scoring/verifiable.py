"""Kafka's own VerifiableProducer and VerifiableConsumer, run as processes against a broker."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.contract.traffic.local_kafka import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.traffic.local_kafka import LocalKafka

PACKAGE = "org.apache.kafka.tools"
SECONDS = 120.0
"""A JVM takes 2 s to its first line on an idle machine; others share this one."""


@dataclass
class Tools:
    """Runs the tools with their output in one directory, as a person would."""

    kafka: LocalKafka
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def produce(self, name: str, topic: str, *arguments: str) -> None:
        """Start a producer that writes ``producer-NAME.jsonl``."""
        self._start(f"producer-{name}", "VerifiableProducer", "--topic", topic, *arguments)

    def consume(self, group: str, member: str, topic: str, *arguments: str) -> None:
        """Start a consumer that writes ``consumer-GROUP-MEMBER.jsonl``."""
        wanted = ("--topic", topic, "--group-id", group, "--verbose", *arguments)
        self._start(f"consumer-{group}-{member}", "VerifiableConsumer", *wanted)

    def _start(self, stem: str, tool: str, *arguments: str) -> None:
        java = ("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", f"{self.kafka.libs}/*")
        server = ("--bootstrap-server", self.kafka.bootstrap)
        with (
            (self.folder / f"{stem}.jsonl").open("wb") as out,
            (self.folder / f"{stem}.err").open("wb") as err,
        ):
            self.processes[stem] = subprocess.Popen(
                [*java, f"{PACKAGE}.{tool}", *server, *arguments], stdout=out, stderr=err
            )

    def count(self, stem: str, name: str) -> int:
        """Return how often a process printed an event."""
        return (self.folder / f"{stem}.jsonl").read_bytes().count(f'"name":"{name}"'.encode())

    def records(self, stem: str) -> list[str]:
        """Return the values of the records that a consumer printed, without a torn last line."""
        lines = (self.folder / f"{stem}.jsonl").read_text().splitlines(keepends=True)
        events = (json.loads(line) for line in lines if line[:1] == "{" and line[-1:] == "\n")
        return [event["value"] for event in events if event["name"] == "record_data"]

    def await_event(self, stem: str, name: str, count: int = 1) -> None:
        """Return when a process printed an event so often."""
        wait_until(f"{stem}: {count} {name}", lambda: self.count(stem, name) >= count, SECONDS)

    def finish(self, stem: str) -> None:
        """Wait until a process ended by itself."""
        assert self.processes.pop(stem).wait(SECONDS) == 0

    def stop(self, stem: str) -> None:
        """End a process in order, as SIGTERM does."""
        process = self.processes.pop(stem)
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)

    def kill(self, stem: str) -> None:
        """End a process without a word."""
        process = self.processes.pop(stem)
        process.kill()
        process.wait(SECONDS)

    def close(self) -> None:
        """Leave no process behind."""
        for stem in list(self.processes):
            self.kill(stem)
