"""A Kafka cluster that the product did not deploy, and Kafka's own tool to look at it."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from tests.certificates import authority, certificate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.kubectl import Kubectl

MANIFEST = Path(__file__).parents[1] / "existing-kafka.yaml"
POD = "my-cluster-kafka-0"
SERVICE = "my-cluster-kafka-bootstrap"
TOOL = ("java", "-cp", "/opt/kafka/libs/*")
BROKERS = "my-cluster-kafka-brokers"
"""The headless service, and the Secret with the brokers' certificate."""
CA, USER = "my-cluster-cluster-ca-cert", "krt-user"
"""Secrets of the listener with TLS: its CA, as Strimzi names it, and a user with a password."""
PASSWORD = "distinctive-Passw0rd-of-e2e"  # noqa: S105 - of a test
PREFIXED = ("--resource-pattern-type", "prefixed")
RIGHTS = {
    ("--topic", "krt-", *PREFIXED): "Create Delete Describe DescribeConfigs Read Write",
    ("--group", "krt-", *PREFIXED): "Delete Describe Read",
    # The topics need no DescribeConfigs; one command less is a second less.
    (
        *("--cluster", "--topic", "__consumer_offsets", "--topic", "__transaction_state"),
    ): "Describe DescribeConfigs",
}
"""What docs/how-to/existing-kafka.md asks for: resources, and operations."""
LOCAL = ("--bootstrap-server", "localhost:9092")


def kafka_image(operator: Kubectl) -> str:
    """Return the image of Kafka in KRaft mode that the chart names."""
    (deployment,) = operator.items("deployments", "-l", "app.kubernetes.io/name=kafka-resilience")
    variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    (image,) = (item["value"] for item in variables if item["name"] == "KRT_IMAGE_KAFKA_KRAFT")
    return str(image)


def grant_secrets(operator: Kubectl, kubectl: Kubectl) -> None:
    """Let the controller get the Secrets of the cluster, as docs/how-to/existing-kafka.md does."""
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    _grant(operator, kubectl, "krt-kafka-secrets", rule | {"resourceNames": [CA, USER]})


def grant_pods(operator: Kubectl, kubectl: Kubectl) -> None:
    """Let the controller act on the brokers' pods, as docs/how-to/existing-kafka.md does."""
    _grant(
        operator,
        kubectl,
        "krt-broker-pods",
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "delete"]},
        {"apiGroups": [""], "resources": ["pods/ephemeralcontainers"], "verbs": ["patch"]},
        {"apiGroups": ["kafkaresilience.dev"], "resources": ["brokerpods"], "verbs": ["fault"]},
    )


def _grant(operator: Kubectl, kubectl: Kubectl, name: str, *rules: dict[str, Any]) -> None:
    (deployment,) = operator.items("deployments", "-l", "app.kubernetes.io/name=kafka-resilience")
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    named = {"metadata": {"name": name}}
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": account, "namespace": operator.namespace}
    kubectl.apply(
        {**{"apiVersion": f"{group}/v1", "kind": "Role"} | named, "rules": list(rules)},
        {
            **{"apiVersion": f"{group}/v1", "kind": "RoleBinding"} | named,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
            "subjects": [subject],
        },
    )


@dataclass(frozen=True)
class ExistingKafka:
    """The cluster in a namespace of its own."""

    kubectl: Kubectl

    @classmethod
    def deploy(cls, kubectl: Kubectl, image: str) -> ExistingKafka:
        """Create it and wait until its brokers serve."""
        documents = list(yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8")))
        for document in documents:
            if document["kind"] == "StatefulSet":
                document["spec"]["template"]["spec"]["containers"][0]["image"] = image
        kubectl.apply(*_secrets(kubectl.namespace), *documents)
        kubectl("rollout", "status", "statefulset/my-cluster-kafka", "--timeout=180s", timeout=190)
        cluster = cls(kubectl)
        cluster.add_user()
        return cluster

    @property
    def bootstrap(self) -> str:
        """Host and port of its bootstrap service."""
        return f"{SERVICE}.{self.kubectl.namespace}.svc:9092"

    def secured(self) -> dict[str, Any]:
        """``spec.kafkaRef`` with the listener that wants TLS and a user."""
        return {
            "bootstrapServers": [self.bootstrap.replace(":9092", ":9094")],
            "security": {
                "tls": {"trustedCertificateSecretRef": {"name": CA}},
                "sasl": {"mechanism": "SCRAM-SHA-512", "secretRef": {"name": USER}},
            },
        }

    @contextlib.contextmanager
    def unreachable(self) -> Iterator[None]:
        """Let the bootstrap address lead to no broker during the block."""
        selector = self.kubectl.get("service", SERVICE)["spec"]["selector"]
        self._select({"app": "nobody"})
        try:
            yield
        finally:
            self._select(selector)

    def _select(self, selector: dict[str, str]) -> None:
        change = [{"op": "replace", "path": "/spec/selector", "value": selector}]
        self.kubectl("patch", "service", SERVICE, "--type=json", "-p", json.dumps(change))

    def add_user(self) -> None:
        """Create the user, and give it the rights of a test."""
        self._run(
            "org.apache.kafka.tools.ConfigCommand",
            *("--alter", "--entity-type", "users", "--entity-name", "krt"),
            *("--add-config", f"SCRAM-SHA-512=[password={PASSWORD}]"),
        )
        for resources, operations in RIGHTS.items():
            self._run(
                "org.apache.kafka.tools.AclCommand",
                *("--add", "--force", "--allow-principal", "User:krt", *resources),
                *(part for name in operations.split() for part in ("--operation", name)),
            )

    def create_topic(self, name: str, partitions: int = 1, **config: str) -> None:
        """Create a topic that is not the test's; underscores in ``config`` stand for dots."""
        settings = [f"{key.replace('_', '.')}={value}" for key, value in config.items()]
        self._topics(
            *("--create", "--topic", name, "--replication-factor", "3"),
            *("--partitions", str(partitions)),
            *(part for setting in settings for part in ("--config", setting)),
        )

    def write(self, topic: str, count: int) -> None:
        """Write records that are not the test's, with a key each, which spreads them."""
        producer = [*TOOL, "org.apache.kafka.tools.ConsoleProducer", *LOCAL, "--topic", topic]
        for setting in ("parse.key=true", "key.separator=:"):
            producer += ["--reader-property", setting]
        text = "".join(f"old-{number}:{number}\n" for number in range(count))
        self.kubectl("exec", "-i", POD, "--", *producer, stdin=text, timeout=60)

    def topics(self) -> set[str]:
        """Return the topics that are not Kafka's own."""
        return set(self._topics("--list", "--exclude-internal").split())

    def groups(self) -> set[str]:
        """Return the consumer groups."""
        tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
        return set(self._run(tool, "--list").split())

    @staticmethod
    def pods() -> list[str]:
        """Return the names of the brokers' pods."""
        return [f"my-cluster-kafka-{number}" for number in range(3)]

    def end_offset(self, topic: str) -> int:
        """Return the end offsets of a topic's partitions, added up."""
        return self._offsets(topic, "latest")

    def start_offset(self, topic: str) -> int:
        """Return the start offsets of a topic's partitions, added up."""
        return self._offsets(topic, "earliest")

    def _offsets(self, topic: str, time: str) -> int:
        tool = "org.apache.kafka.tools.GetOffsetShell"
        lines = self._run(tool, "--topic", topic, "--time", time).splitlines()
        return sum(int(line.rpartition(":")[2]) for line in lines if line.strip())

    def _topics(self, *arguments: str) -> str:
        return self._run("org.apache.kafka.tools.TopicCommand", *arguments)

    def _run(self, tool: str, *arguments: str) -> str:
        return self.kubectl("exec", POD, "--", *TOOL, tool, *LOCAL, *arguments, timeout=60)


def _secrets(namespace: str) -> list[dict[str, Any]]:
    """The certificate of the brokers, its CA, and the user."""
    root = authority("my-cluster")
    pods = [f"my-cluster-kafka-{number}.{BROKERS}" for number in range(3)]
    hosts = [f"{host}.{namespace}.svc" for host in (*pods, SERVICE)]
    brokers = certificate("brokers", root, hosts=hosts)
    texts = {
        BROKERS: {"keystore.pem": brokers.key_pem + brokers.pem},
        CA: {"ca.crt": root.pem},
        USER: {"username": "krt", "password": PASSWORD},
    }
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name},
            "stringData": data,
        }
        for name, data in texts.items()
    ]
