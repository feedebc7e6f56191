"""The plan: what a test was resolved to, written once before anything is built.

It lies in the ConfigMap `T-plan` under the key `plan.json`, which is created (never replaced) and
immutable: whatever controller takes the run over builds the same objects from it, and traffic,
recorder and scoring read the same file. Its schema is version 1; fields are only ever added.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from krt_operator.api.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION: Final = 2
KEY: Final = "plan.json"


@dataclass(frozen=True)
class Member:
    """A broker or ZooKeeper server and where it is to run.

    Attributes:
        member: `kafka-0`, `zk-0`.
        kind: `kafka` or `zookeeper`.
        ordinal: broker.id for Kafka; myid is ordinal + 1 for ZooKeeper.
        zone: the value of the rack's topology key it is bound to.
        pod: name of its pod.
        host: its address inside the cluster.
    """

    member: str
    kind: str
    ordinal: int
    zone: str
    pod: str
    host: str


@dataclass(frozen=True)
class PlannedTopic:
    """A topic with its replicas assigned: partition to broker ids, preferred leader first."""

    name: str
    partitions: int
    replication_factor: int
    config: Mapping[str, str]
    assignment: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True)
class Plan:
    """Everything the builders and phases need, resolved once.

    Attributes:
        namespace, name, uid: of the test.
        spec: the resolved spec.
        members: brokers, then ZooKeeper servers.
        broker_config, zookeeper_config: settings in their property files that we or the user set.
        topics: to be created.
        images: by `operator`, `traffic`, `scoring`, `kafka`.
        versions: of `operator`, `kafka`, `kubernetes`.
    """

    namespace: str
    name: str
    uid: str
    spec: Spec
    members: tuple[Member, ...]
    broker_config: Mapping[str, str]
    zookeeper_config: Mapping[str, str]
    topics: tuple[PlannedTopic, ...]
    images: Mapping[str, str]
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def brokers(self) -> tuple[Member, ...]:
        """The Kafka members."""
        return tuple(one for one in self.members if one.kind == "kafka")

    @property
    def zookeepers(self) -> tuple[Member, ...]:
        """The ZooKeeper members."""
        return tuple(one for one in self.members if one.kind == "zookeeper")

    @property
    def bootstrap(self) -> str:
        """Every broker, comma-joined: a client must find the cluster with any of them down."""
        return self.bootstrap_but(frozenset())

    def bootstrap_but(self, silent: frozenset[str]) -> str:
        """Every broker but these members, comma-joined; all of them where none is left.

        A frozen broker's host goes on accepting connections and answers none: a client that
        happens to ask it first learns nothing before its request times out.
        """
        answering = [one for one in self.brokers if one.member not in silent]
        return ",".join(f"{one.host}:9092" for one in answering or self.brokers)

    @property
    def zookeeper(self) -> str:
        """ZooKeeper's connection string."""
        return ",".join(f"{one.host}:2181" for one in self.zookeepers)

    @property
    def bundle(self) -> str:
        """The bundle's directory, relative to the evidence volume."""
        return f"{self.namespace}/{self.name}/{self.uid}"

    def member(self, name: str) -> Member | None:
        """The member of this name."""
        return next((one for one in self.members if one.member == name), None)

    def to_json(self) -> str:
        """The text of plan.json: sorted keys, so that the same plan is the same bytes."""
        body = {
            "schemaVersion": SCHEMA_VERSION,
            "run": {
                "namespace": self.namespace,
                "name": self.name,
                "uid": self.uid,
                "seed": self.spec.seed,
            },
            "bundle": self.bundle,
            "spec": self.spec.dump(),
            "bootstrap": self.bootstrap,
            "zookeeper": self.zookeeper,
            "members": [vars(one) for one in self.members],
            "brokerConfig": dict(self.broker_config),
            "zookeeperConfig": dict(self.zookeeper_config),
            "topics": [
                {
                    "name": topic.name,
                    "partitions": topic.partitions,
                    "replicationFactor": topic.replication_factor,
                    "config": dict(topic.config),
                    "assignment": {str(p): list(ids) for p, ids in topic.assignment.items()},
                }
                for topic in self.topics
            ],
            "versions": dict(self.versions),
            "images": dict(self.images),
        }
        return json.dumps(body, sort_keys=True, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Read what `to_json` wrote.

        Raises:
            ValueError: the text is no plan of this schema version.
        """
        body: dict[str, Any] = json.loads(text)
        if body.get("schemaVersion") != SCHEMA_VERSION:
            raise ValueError(
                f"plan.json has schemaVersion {body.get('schemaVersion')}, this controller reads "
                f"{SCHEMA_VERSION}: finish the run with the controller that started it"
            )
        return cls(
            namespace=body["run"]["namespace"],
            name=body["run"]["name"],
            uid=body["run"]["uid"],
            spec=Spec.model_validate(body["spec"]),
            members=tuple(Member(**one) for one in body["members"]),
            broker_config=body["brokerConfig"],
            zookeeper_config=body["zookeeperConfig"],
            topics=tuple(
                PlannedTopic(
                    name=one["name"],
                    partitions=one["partitions"],
                    replication_factor=one["replicationFactor"],
                    config=one["config"],
                    assignment={int(p): tuple(ids) for p, ids in one["assignment"].items()},
                )
                for one in body["topics"]
            ),
            images=body["images"],
            versions=body["versions"],
        )
