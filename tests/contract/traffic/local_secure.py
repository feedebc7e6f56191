"""A real broker that lets nobody in without TLS or SASL, from the jars of hack/kafka-jars.

One node in KRaft mode that is its own controller. It has a listener in plaintext, on which anybody
is a super user, for itself and for what a test arranges.
"""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from confluent_kafka.cimpl import NewTopic
from tests.certificates import Signed, authority, certificate
from tests.contract.tools import unavailable
from tests.contract.traffic.local_kafka import (
    LOGGING,
    SINGLE_BROKER,
    answers,
    ended,
    jars,
    missing,
    wait_until,
)
from tests.contract.traffic.local_kraft import CLUSTER_ID, NEWEST
from tests.ports import free_port

from krt_contract.kafka_login import Login
from krt_contract.kafka_security import SecretFile, Security

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

USER, PASSWORD = "krt-user", "distinctive, pass=word"
"""The user that has all rights that a test needs; the password has what SCRAM must escape."""

POOR, POOR_PASSWORD = "krt-poor", "poor-password"
"""A user without any right."""

ROOT = authority("root")
BETWEEN = authority("between", ROOT)
OTHER = authority("somebody else's")

PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "CONTROLLER": "PLAINTEXT",
    "SCRAM": "SASL_SSL",
    "CLEAR": "SASL_PLAINTEXT",
    "MUTUAL": "SSL",
    "EXPIRED": "SASL_SSL",
    "MISNAMED": "SASL_SSL",
}
"""Listener to its protocol. MUTUAL wants a certificate of the client, too; the certificate of
EXPIRED has expired, that of MISNAMED is of another host."""

NEEDED: Mapping[Any, Mapping[str, tuple[str, ...]]] = {
    ResourceType.TOPIC: {
        "krt-": ("CREATE", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE"),
        "__consumer_offsets": ("DESCRIBE",),
        "__transaction_state": ("DESCRIBE",),
    },
    ResourceType.GROUP: {"krt-": ("DELETE", "DESCRIBE", "READ")},
    ResourceType.TRANSACTIONAL_ID: {"krt-": ("DESCRIBE", "WRITE")},
    ResourceType.BROKER: {"kafka-cluster": ("DESCRIBE", "DESCRIBE_CONFIGS")},
}
"""The rights that docs/how-to/existing-kafka.md asks for."""


@dataclass
class SecureKafka:
    """A broker below ``folder``."""

    folder: Path
    libs: Path
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in PROTOCOLS})
    _process: subprocess.Popen[bytes] | None = None

    def address(self, listener: str = "SCRAM") -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    bootstrap = property(address)
    zookeeper = ""

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        properties = self.folder / "server.properties"
        properties.write_text("".join(f"{k}={v}\n" for k, v in self._settings().items()))
        done = subprocess.run(
            self._java(
                "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties)
            ),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(properties)), stdout=log, stderr=subprocess.STDOUT
            )
        wait_until("the broker serves", self._serves)
        for user, password in ((USER, PASSWORD), (POOR, POOR_PASSWORD)):
            self.set_password(user, password)
        self.grant(USER, NEEDED)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def admin(self) -> AdminClient:
        """A super user's."""
        return AdminClient({"bootstrap.servers": self.address("PLAINTEXT"), "log_level": 0})

    def create_topic(self, name: str, partitions: int) -> None:
        admin = self.admin()  # kept: the client ends with its last reference
        for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            future.result(30)

    def end(self, topic: str, partition: int) -> int:
        """The end of a partition's log."""
        client = Consumer({"bootstrap.servers": self.address("PLAINTEXT"), "group.id": "ends"})
        at = TopicPartition(topic, partition)
        end: int = client.get_watermark_offsets(at, timeout=20)[1]
        client.close()
        return end

    def set_password(self, user: str, password: str) -> None:
        admin = self.admin()
        # One a request: brokers take two mechanisms of a user for one credential altered twice.
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            change = UserScramCredentialUpsertion(
                user, ScramCredentialInfo(mechanism, 4096), password.encode()
            )
            for future in admin.alter_user_scram_credentials([change]).values():
                future.result(30)

    def grant(self, user: str, rights: Mapping[Any, Mapping[str, tuple[str, ...]]]) -> None:
        bindings = [
            AclBinding(
                kind,
                name,
                ResourcePatternType.PREFIXED if name == "krt-" else ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                AclOperation[operation],
                AclPermissionType.ALLOW,
            )
            for kind, names in rights.items()
            for name, operations in names.items()
            for operation in operations
        ]
        admin = self.admin()
        for future in admin.create_acls(bindings).values():
            future.result(30)

    def _serves(self) -> bool:
        if self._process is not None and (code := self._process.poll()) is not None:
            raise ended("the broker", code, self.folder / "broker.log")
        if not all(answers(port) for port in self.ports.values()):
            return False
        with contextlib.suppress(Exception):
            return bool(self.admin().list_topics(timeout=5).brokers)
        return False

    def _settings(self) -> dict[str, str]:
        listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items())
        advertised = ",".join(
            f"{name}://127.0.0.1:{port}"
            for name, port in self.ports.items()
            if name != "CONTROLLER"
        )
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self.ports['CONTROLLER']}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": listeners,
            "advertised.listeners": advertised,
            "listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in PROTOCOLS.items()),
            "log.dirs": str(self.folder / "data"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:CN=krt-client",
            **SINGLE_BROKER,
        }
        for name in ("SCRAM", "CLEAR", "EXPIRED", "MISNAMED"):
            prefix = f"listener.name.{name.lower()}"
            settings |= {f"{prefix}.sasl.enabled.mechanisms": "SCRAM-SHA-512,SCRAM-SHA-256,PLAIN"}
            scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            settings |= {
                f"{prefix}.scram-sha-{bits}.sasl.jaas.config": scram for bits in ("256", "512")
            }
            settings |= {
                f"{prefix}.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain."
                f'PlainLoginModule required user_{USER}="{PASSWORD}";'
            }
        good = certificate("broker", BETWEEN)
        for name, own in {
            "SCRAM": good,
            "MUTUAL": good,
            "EXPIRED": certificate("old", ROOT, days=-1),
            "MISNAMED": certificate("broker", ROOT, hosts=("elsewhere.example",)),
        }.items():
            store = self.folder / f"{name.lower()}.pem"
            store.write_text(own.key_pem + own.pem)
            settings |= {
                f"listener.name.{name.lower()}.ssl.keystore.type": "PEM",
                f"listener.name.{name.lower()}.ssl.keystore.location": str(store),
            }
        (self.folder / "ca.crt").write_text(ROOT.pem)
        return settings | {
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.mutual.ssl.truststore.type": "PEM",
            "listener.name.mutual.ssl.truststore.location": str(self.folder / "ca.crt"),
        }

    def _java(self, main: str, *arguments: str) -> list[str]:
        flags = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        return ["java", *flags, *LOGGING, "-cp", f"{self.libs}/*", main, *arguments]


def security(
    *, ca: bool = True, client: bool = False, user: bool = True, mechanism: str = "SCRAM-SHA-512"
) -> dict[str, Any]:
    """``spec.kafkaRef.security`` of a test."""
    tls: dict[str, Any] = {"trustedCertificateSecretRef": {"name": "ca"}} if ca else {}
    if client:
        tls["certificateSecretRef"] = {"name": "client"}
    sasl = {"mechanism": mechanism, "secretRef": {"name": "user"}}
    return ({"tls": tls} if tls else {}) | ({"sasl": sasl} if user else {})


def login(  # noqa: PLR0913 (each a file that a pod mounts)
    folder: Path,
    *,
    ca: Signed | None = ROOT,
    client: Signed | None = None,
    user: str = "",
    password: str = "",
    mechanism: str = "SCRAM-SHA-512",
) -> Login:
    """The login of a pod that has these mounted in ``folder``."""
    spec = security(
        ca=ca is not None, client=client is not None, user=bool(user), mechanism=mechanism
    )
    files: dict[SecretFile, str] = {}
    if ca is not None:
        files[SecretFile.CA] = ca.pem
    if client is not None:
        files |= {SecretFile.CERTIFICATE: client.pem, SecretFile.PRIVATE_KEY: client.key_pem}
    if user:
        files |= {SecretFile.USERNAME: user, SecretFile.PASSWORD: password}
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        (folder / file).write_text(text)
    return Login.mounted(Security.of({"kafkaRef": {"security": spec}}), folder)


@contextlib.contextmanager
def lent(folder: Path) -> Iterator[SecureKafka]:
    """Lend a broker that is not started yet and is stopped afterwards; see ``unavailable``."""
    if (reason := missing()) is not None:
        unavailable(f"no real broker can be started: {reason}")
    local = SecureKafka(folder, jars(NEWEST))
    try:
        yield local
    finally:
        local.stop()
