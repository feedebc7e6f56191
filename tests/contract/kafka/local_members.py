"""Members as the controller builds them, as processes of this machine: script, command, files.

Paths, ports and host names of a pod are replaced; everything else is what a pod runs. There is one
broker and one KRaft controller or ZooKeeper server, because the ports of a kind are the same on
every host.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.contract.tools import unavailable
from tests.contract.traffic.local_kafka import answers, jars, missing, wait_until
from tests.ports import free_port
from tests.unit.operator.doubles.plans import sample_plan

from krt_contract.cluster_security import client_secret
from krt_contract.kafka_security import FOLDER
from krt_contract.members import CONTROLLER_PORT, KAFKA_PORT, ZOOKEEPER_PORT, MemberKind
from krt_contract.metadata import MetadataMode
from krt_operator import names
from krt_operator.build.cluster_secrets import build_cluster_secrets
from krt_operator.build.members import build_member
from krt_operator.build.render import script
from krt_operator.build.shared import CLIENT_PROPERTIES, build_scripts_map
from krt_operator.constants import PEERS_PORT, PROBE_PORT
from krt_operator.engine.credentials import Credentials
from krt_operator.engine.login import own_login

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from krt_contract.kafka_login import Login
    from krt_contract.members import Member
    from krt_operator.api.plan import Plan

PORTS = (KAFKA_PORT, PEERS_PORT, CONTROLLER_PORT, ZOOKEEPER_PORT, PROBE_PORT)
LISTENS = {
    MemberKind.KAFKA: KAFKA_PORT,
    MemberKind.CONTROLLER: CONTROLLER_PORT,
    MemberKind.ZOOKEEPER: ZOOKEEPER_PORT,
}
SAMPLES = {MetadataMode.KRAFT: "sample-kraft.yaml", MetadataMode.ZOOKEEPER: "sample.yaml"}


def small_plan(security: dict[str, Any], mode: MetadataMode) -> Plan:
    """The plan of a secured cluster of two members on this machine: a broker and its metadata's."""

    def change(spec: dict[str, Any]) -> None:
        spec["kafka"] |= {"replicas": 1, "config": {}, "security": security}
        if mode is MetadataMode.KRAFT:
            spec["kafka"]["metadata"] = {"mode": "KRaft", "controllers": {"replicas": 1}}
        else:
            spec["zookeeper"] = {"replicas": 1}
        spec["topics"] = [{"name": "foo", "partitions": 1, "replicationFactor": 1}]

    plan = sample_plan(change, SAMPLES[mode])
    return replace(
        plan,
        members=tuple(replace(one, host="localhost") for one in plan.members),
        zookeeper=f"localhost:{ZOOKEEPER_PORT}" if plan.zookeepers else "",
    )


@dataclass
class LocalMembers:
    """The members of a plan below ``folder``."""

    folder: Path
    plan: Plan
    libs: Path
    ports: dict[int, int] = field(default_factory=lambda: {port: free_port() for port in PORTS})
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.credentials = Credentials(bytes(range(32)), self.plan.uid, datetime.now(UTC))
        built = build_cluster_secrets(self.plan, self.credentials)
        self.secrets = {one["metadata"]["name"]: one["stringData"] for one in built}

    @property
    def login(self) -> Login:
        """Of the controller of the product."""
        return own_login(self.plan, self.credentials)

    def address(self, port: int = KAFKA_PORT) -> str:
        return f"localhost:{self.ports[port]}"

    def start(self) -> None:
        for member in (*self.plan.zookeepers, *self.plan.controllers, *self.plan.brokers):
            self._start(member)
        wait_until("the broker serves", self.serves)

    def serves(self) -> bool:
        """Whether the startup probe of the broker succeeds."""
        probe = [str(self.ports[PROBE_PORT]), *(["0"] if self.plan.spec.kraft else [])]
        command = ["bash", "-c", script("serves.sh"), "serves.sh", *probe]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    def log(self, member: str) -> str:
        """All that a member printed."""
        return (self.folder / member / "log").read_text()

    def reassign(self, moves: str) -> subprocess.CompletedProcess[bytes]:
        """Run the script of the Job that submits a reassignment."""
        here = self.folder / "tool"
        self._write(here / "secret", self.secrets[client_secret(self.plan.name, self.plan.uid)])
        data = build_scripts_map(self.plan, "IfNotPresent")["data"]
        places = {
            "/opt/kafka/libs": str(self.libs),
            "/dev/termination-log": str(here / "report"),
            "/tmp/moves.json": str(here / "moves.json"),  # noqa: S108 - the pod's own
            FOLDER: str(here / "secret"),
        }
        login = here / CLIENT_PROPERTIES
        login.write_text(_moved(data[CLIENT_PROPERTIES], places))
        text = _moved(data["reassign.sh"], places)
        return subprocess.run(
            ["bash", "-c", text, "reassign.sh", self.address(), str(login)],
            check=False,
            capture_output=True,
            env=os.environ | {"KRT_MOVES": moves},
        )

    def stop(self) -> None:
        for name, process in reversed(self._processes.items()):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((self.folder / name / "run" / "java.pid").read_text()), signal.SIGKILL)
            process.wait()

    def _start(self, member: Member) -> None:
        here = self.folder / member.member
        objects = build_member(self.plan, member, "IfNotPresent")
        (config_map,) = (obj for obj in objects if obj["kind"] == "ConfigMap")
        (stateful_set,) = (obj for obj in objects if obj["kind"] == "StatefulSet")
        pod = stateful_set["spec"]["template"]["spec"]
        places = {
            "/opt/kafka/libs": str(self.libs),
            "/krt/config": str(here / "config"),
            "/run/krt": str(here / "run"),
            "/dev/termination-log": str(here / "termination-log"),
            FOLDER: str(here / "secret"),
            "/data/": f"{here}/",
            names.host(
                self.plan.name, names.peers(member.member), self.plan.namespace
            ): "localhost",
            **{f":{port}": f":{mine}" for port, mine in self.ports.items()},
            f"Port={ZOOKEEPER_PORT}": f"Port={self.ports[ZOOKEEPER_PORT]}",
        }
        (here / "run").mkdir(parents=True)
        config = {name: _moved(text, places) for name, text in config_map["data"].items()}
        self._write(here / "config", config)
        (volume,) = (one["secret"] for one in pod["volumes"] if one["name"] == "kafka")
        secret = self.secrets[volume["secretName"]]
        self._write(here / "secret", {one["path"]: secret[one["key"]] for one in volume["items"]})
        wrapper = here / "member.sh"
        wrapper.write_text(_moved(script("member.sh"), places))
        (container,) = pod["containers"]
        variables = {
            one["name"]: _moved(one["value"], places) for one in container["env"] if "value" in one
        }
        arguments = [_moved(word, places) for word in container["args"]]
        with (here / "log").open("wb") as log:
            self._processes[member.member] = subprocess.Popen(
                ["bash", str(wrapper), *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | variables,
            )
        port = self.ports[LISTENS[member.kind]]
        wait_until(f"{member.member} listens", lambda: answers(port))

    @staticmethod
    def _write(folder: Path, texts: dict[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text)


def _moved(text: str, places: dict[str, str]) -> str:
    for place, here in places.items():
        text = text.replace(place, here)
    return text


@contextlib.contextmanager
def lent(
    folder: Path,
    security: dict[str, Any],
    version: str,
    mode: MetadataMode = MetadataMode.KRAFT,
) -> Iterator[LocalMembers]:
    """Lend members that are not started yet and are stopped afterwards; see ``unavailable``."""
    if (reason := missing()) is not None:
        unavailable(f"no member can be started: {reason}")
    local = LocalMembers(folder, small_plan(security, mode), jars(version))
    try:
        yield local
    finally:
        local.stop()
