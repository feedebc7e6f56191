"""Real KRaft controllers and brokers on this machine, from the jars of hack/kafka-jars."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.contract.tools import unavailable
from tests.contract.traffic.local_kafka import (
    LOGGING,
    ROOT,
    START_SECONDS,
    answers,
    ended,
    jars,
    missing,
    wait_until,
)
from tests.ports import free_port

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator
    from pathlib import Path

CLUSTER_ID = "a3J0LWtyYWZ0LXRlc3RlQQ"
CONTROLLERS = (100, 101, 102)
BROKERS = (0, 1)
LOG = "__cluster_metadata-0/00000000000000000000.log"
SESSION_MILLIS = 4000

VERSIONS = dict(
    re.findall(r"^(\w+)=([\d.]+)$", (ROOT / "hack/versions.env").read_text(), re.MULTILINE)
)
OLDEST, NEWEST = VERSIONS["KAFKA_VERSION"], VERSIONS["KAFKA_KRAFT_VERSION"]
"""Of Kafka, in KRaft mode: the line that has ZooKeeper, too, and what a test runs by default."""

DUMPED = re.compile(
    r"^\|? ?(?:\| )?offset: (?P<offset>\d+) CreateTime: (?P<at>\d+) .*?(?P<json>\{.*\})$"
)


@dataclass
class LocalKraft:
    """Three controllers and two brokers of a version below ``folder``; node id → process."""

    folder: Path
    version: str
    libs: Path
    settings: dict[str, str] = field(default_factory=dict)
    ports: dict[int, int] = field(
        default_factory=lambda: {node: free_port() for node in (*CONTROLLERS, *BROKERS)}
    )
    _processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def controllers(self) -> dict[int, str]:
        return {node: f"127.0.0.1:{self.ports[node]}" for node in CONTROLLERS}

    @property
    def brokers(self) -> list[str]:
        return [f"127.0.0.1:{self.ports[node]}" for node in BROKERS]

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        nodes = (*CONTROLLERS, *BROKERS)
        with ThreadPoolExecutor() as pool:  # each of them waits for a process
            list(pool.map(self.format, nodes))
            list(pool.map(self.start_node, nodes))
        wait_until("the brokers serve", lambda: len(self._known()) == len(BROKERS))

    def format(self, node: int) -> None:
        properties = self.folder / f"{node}.properties"
        settings = self._settings(node)
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties))

    def start_node(self, node: int) -> None:
        heap = "192m" if node in CONTROLLERS else "256m"
        with (self.folder / f"{node}.log").open("ab") as log:
            self._processes[node] = subprocess.Popen(
                self._java(heap, "kafka.Kafka", str(self.folder / f"{node}.properties")),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_until(f"node {node} listens", lambda: self._listens(node), START_SECONDS)

    def kill(self, node: int) -> None:
        """SIGKILL a node and reap it."""
        process = self._processes.pop(node)
        process.kill()
        process.wait()

    def signal(self, node: int, number: signal.Signals) -> None:
        self._processes[node].send_signal(number)

    def pid(self, node: int) -> int:
        return self._processes[node].pid

    def end(self, node: int, seconds: float = START_SECONDS) -> None:
        """SIGTERM a node and wait until it ended by itself."""
        process = self._processes.pop(node)
        process.terminate()
        process.wait(seconds)

    def stop(self) -> None:
        for node in list(self._processes):
            self.kill(node)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": ",".join(self.brokers), "log_level": 0})

    def create_topic(self, name: str, partitions: int, **config: str) -> None:
        topic = NewTopic(name, partitions, len(BROKERS), config=config)
        admin = self.admin()  # kept: the client ends with its last reference
        for future in admin.create_topics([topic]).values():
            future.result(30)

    def dump(self, node: int) -> list[dict[str, Any]]:
        """Return a node's own copy of the metadata log, as Kafka's tool decodes it."""
        release = tuple(int(part) for part in self.version.split(".")[:2])
        text = self._run(
            # As in operator/src/krt_operator/templates/scripts/dump.sh.
            f"{'org.apache.' if release >= (4, 3) else ''}kafka.tools.DumpLogSegments",
            "--cluster-metadata-decoder",
            "--files",
            str(self.folder / str(node) / LOG),
        )
        found = []
        for line in text.splitlines():
            match = DUMPED.match(line)
            if match and '"type"' in line:
                found.append(json.loads(match["json"]) | {"offset": int(match["offset"])})
        return found

    def _listens(self, node: int) -> bool:
        if (code := self._processes[node].poll()) is not None:
            raise ended(f"node {node}", code, self.folder / f"{node}.log")
        return answers(self.ports[node])

    def _known(self) -> Any:
        with contextlib.suppress(Exception):
            return self.admin().list_topics(timeout=5).brokers
        return {}

    def _settings(self, node: int) -> dict[str, str]:
        voters = ",".join(f"{voter}@{address}" for voter, address in self.controllers.items())
        common = {
            "node.id": str(node),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.folder / str(node)),
            "offsets.topic.num.partitions": "3",
            "offsets.topic.replication.factor": "1",
            "broker.session.timeout.ms": str(SESSION_MILLIS),
            "broker.heartbeat.interval.ms": "500",
            **self.settings,
        }
        if node in CONTROLLERS:
            return common | {
                "process.roles": "controller",
                "listeners": f"CONTROLLER://127.0.0.1:{self.ports[node]}",
            }
        return common | {
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[node]}",
        }

    def _run(self, main: str, *arguments: str) -> str:
        done = subprocess.run(
            self._java("128m", main, *arguments), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{main} {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def _java(self, heap: str, main: str, *arguments: str) -> list[str]:
        return [
            "java",
            f"-Xmx{heap}",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            *LOGGING,
            "-cp",
            f"{self.libs}/*",
            main,
            *arguments,
        ]


@contextlib.contextmanager
def lent(folder: Path, version: str) -> Iterator[LocalKraft]:
    """Lend a cluster that is not started yet and is stopped afterwards; see ``unavailable``."""
    if (reason := missing()) is not None:
        unavailable(f"no real broker can be started: {reason}")
    local = LocalKraft(folder, version, jars(version))
    try:
        yield local
    finally:
        local.stop()
