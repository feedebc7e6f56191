"""A Kafka cluster that the product did not deploy, and Kafka's own tool to look at it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

MANIFEST = Path(__file__).parents[1] / "existing-kafka.yaml"
POD = "my-cluster-kafka-0"
SERVICE = "my-cluster-kafka-bootstrap"
TOOL = ("java", "-cp", "/opt/kafka/libs/*")
LOCAL = ("--bootstrap-server", "localhost:9092")


def kafka_image(operator: Kubectl) -> str:
    """Return the image of Kafka in KRaft mode that the chart names."""
    (deployment,) = operator.items("deployments", "-l", "app.kubernetes.io/name=kafka-resilience")
    variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    (image,) = (item["value"] for item in variables if item["name"] == "KRT_IMAGE_KAFKA_KRAFT")
    return str(image)


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
        kubectl.apply(*documents)
        kubectl("rollout", "status", "statefulset/my-cluster-kafka", "--timeout=180s", timeout=190)
        return cls(kubectl)

    @property
    def bootstrap(self) -> str:
        """Host and port of its bootstrap service."""
        return f"{SERVICE}.{self.kubectl.namespace}.svc:9092"

    def create_topic(self, name: str) -> None:
        """Create a topic that is not the test's."""
        self._topics("--create", "--topic", name, "--partitions", "1", "--replication-factor", "3")

    def topics(self) -> set[str]:
        """Return the topics that are not Kafka's own."""
        return set(self._topics("--list", "--exclude-internal").split())

    def groups(self) -> set[str]:
        """Return the consumer groups."""
        tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
        return set(self._run(tool, "--list").split())

    def end_offset(self, topic: str) -> int:
        """Return the end offset of a topic with one partition."""
        tool = "org.apache.kafka.tools.GetOffsetShell"
        return int(self._run(tool, "--topic", topic).strip().rpartition(":")[2])

    def _topics(self, *arguments: str) -> str:
        return self._run("org.apache.kafka.tools.TopicCommand", *arguments)

    def _run(self, tool: str, *arguments: str) -> str:
        return self.kubectl("exec", POD, "--", *TOOL, tool, *LOCAL, *arguments, timeout=60)
