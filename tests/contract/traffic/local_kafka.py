"""A real broker with a real ZooKeeper on this machine, from the jars of hack/kafka-jars.

Used by the contract tests of traffic/ and by bench.traffic.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kazoo.client import KazooClient
from tests.contract.tools import unavailable
from tests.ports import free_port

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS = 60.0
"""A broker takes 2.5 s on an idle machine; others share this one."""

_IMAGE = ROOT / "hack" / "images" / "kafka"
LOGGING = (
    f"-Dlog4j.configuration=file:{_IMAGE / 'log4j.properties'}",
    f"-Dlog4j2.configurationFile={_IMAGE / 'log4j2.properties'}",
)
"""Options of Java: everything goes to stdout. Which one is read depends on Kafka's version."""


def missing() -> str | None:
    """Return why no broker can be started here, or None."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            return f"{tool} is not on PATH (Debian: maven openjdk-17-jre-headless)"
    return None


def jars(version: str | None = None) -> Path:
    """Return the folder of the jars, fetched by the project's own script.

    Args:
        version: of Kafka; None for that of tests in ZooKeeper mode.
    """
    command = [str(ROOT / "hack" / "kafka-jars"), *([version] if version else [])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip())


def wait_until(what: str, condition: Any, seconds: float = START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds} s still not: {what}")
        time.sleep(0.05)


def ended(what: str, code: int, log: Path) -> RuntimeError:
    """Return the error about a server that ended by itself: with the last lines of its log."""
    return RuntimeError(f"{what} ended with {code}:\n{log.read_text()[-4000:]}")


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


SINGLE_BROKER = {
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
"""Settings of a broker that has no other: its internal topics have one replica."""


@dataclass
class LocalKafka:
    """One ZooKeeper and one broker below ``folder``."""

    folder: Path
    libs: Path
    heap: str = "384m"
    settings: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    zookeeper_port: int = field(default_factory=free_port)
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def zookeeper(self) -> str:
        return f"127.0.0.1:{self.zookeeper_port}"

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        self.prepare()
        self.start_zookeeper()
        self.start_broker()

    def start_zookeeper(self) -> None:
        self._java(
            "zookeeper",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            {
                "dataDir": str(self.folder / "zk"),
                "clientPort": str(self.zookeeper_port),
                "clientPortAddress": "127.0.0.1",
                "admin.enableServer": "false",
                "4lw.commands.whitelist": "srvr,ruok,mntr",
                "tickTime": "500",
            },
            "128m",
        )
        wait_until("ZooKeeper answers", lambda: answers(self.zookeeper_port))

    def start_broker(self) -> None:
        self._java("broker", "kafka.Kafka", self._broker_settings(), self.heap)
        wait_until("the broker knows itself", self._serves)

    def kill(self, name: str) -> None:
        """SIGKILL the broker or zookeeper and reap it."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def await_session_end(self) -> None:
        """Return when ZooKeeper has given the killed broker up; before, it refuses a new one."""
        client = KazooClient(hosts=self.zookeeper)
        client.start()
        wait_until("the broker's session ended", lambda: not client.exists("/brokers/ids/0"))
        client.stop()
        client.close()

    def signal(self, name: str, number: signal.Signals) -> None:
        self._processes[name].send_signal(number)

    def stop(self) -> None:
        for name in ("broker", "zookeeper"):
            if name in self._processes:
                self.kill(name)

    def create_topic(self, name: str, partitions: int, **config: str) -> None:
        topic = NewTopic(name, partitions, 1, config=config)
        admin = self.admin()  # kept: the client ends with its last reference
        for future in admin.create_topics([topic]).values():
            future.result(30)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def _serves(self) -> bool:
        if (code := self._processes["broker"].poll()) is not None:
            raise ended("the broker", code, self.folder / "broker.log")
        return answers(self.port) and bool(self._brokers())

    def _brokers(self) -> Any:
        with contextlib.suppress(Exception):
            return self.admin().list_topics(timeout=5).brokers
        return None

    def _broker_settings(self) -> dict[str, str]:
        return {
            "broker.id": "0",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "zookeeper.connect": self.zookeeper,
            "log.dirs": str(self.folder / "kafka"),
            **SINGLE_BROKER,
            "zookeeper.session.timeout.ms": "4000",
            "zookeeper.connection.timeout.ms": "60000",
            **self.settings,
        }

    def _java(self, name: str, main: str, settings: dict[str, str], heap: str) -> None:
        properties = self.folder / f"{name}.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [
                    "java",
                    f"-Xmx{heap}",
                    "-XX:+UseSerialGC" if name == "zookeeper" else "-XX:+UseG1GC",
                    *LOGGING,
                    "-cp",
                    f"{self.libs}/*",
                    main,
                    str(properties),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )


@contextlib.contextmanager
def lent(folder: Path, settings: dict[str, str] | None = None) -> Iterator[LocalKafka]:
    """Lend a broker that is not started yet and is stopped afterwards; see ``unavailable``."""
    if (reason := missing()) is not None:
        unavailable(f"no real broker can be started: {reason}")
    local = LocalKafka(folder, jars(), settings=settings or {})
    try:
        yield local
    finally:
        local.stop()
