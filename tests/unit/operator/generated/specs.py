"""Specs made by a seed: right ones, and ones with one mistake that the schema refuses.

The rules across fields (CEL) are the API server's; tests/contract/crd has a case for each. Here the
right specs satisfy them by how they are made.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_contract.faults import Action

if TYPE_CHECKING:
    from collections.abc import Callable

    Mistake = tuple[str, Callable[[Any], None]]
    """The field that a refusal must name, and the change of the spec."""

Spec = dict[str, Any]
TRAFFIC_ROLES = ("Producer", "Consumer")


@dataclass(frozen=True)
class Generated:
    """A spec.

    Attributes:
        spec: as a user writes it.
        mistake: the field that the refusal must name; empty where the spec is right.
    """

    spec: Spec
    mistake: str = ""


def generate(seed: int) -> Generated:
    """The spec of a seed; every fourth has a mistake."""
    chance = random.Random(seed)  # noqa: S311 - the same spec for the same seed
    spec = _Maker(chance).spec()
    if seed % 4:
        return Generated(spec)
    return Generated(spec, _spoil(chance, spec))


class _Maker:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def sometimes(self, one_in: int = 3) -> bool:
        return self.chance.randrange(one_in) == 0

    def seconds(self, most: int) -> str:
        return f"{self.chance.randint(0, most)}s"

    def spec(self) -> Spec:
        chance = self.chance
        brokers, servers = chance.choice([1, 2, 3, 3, 3, 4, 5]), chance.choice([1, 2, 3, 3])
        topics = [self._topic(f"topic-{i}", brokers) for i in range(chance.randint(1, 3))]
        producers = [self._producer(f"p{i}", topics) for i in range(chance.randint(1, 3))]
        consumers = [self._consumer(f"c{i}", topics) for i in range(chance.randint(1, 3))]
        if len(topics) > 1 and self.sometimes():
            self._transform(consumers[0], topics)
        spec: Spec = {
            "kafka": {"replicas": brokers, "config": {"zookeeper.session.timeout.ms": "6000"}},
            "zookeeper": {"replicas": servers},
            "placement": {"separateZooKeeper": chance.choice(["Required", "Preferred", "Ignored"])},
            "topics": topics,
            "traffic": {"producers": producers, "consumers": consumers},
            "warmup": f"{chance.randint(5, 8)}s",
            "seed": chance.randrange(2**31),
            "cleanup": chance.choice(["Delete", "Delete", "Retain"]),
            "evidence": {"compareReplicas": self.sometimes(6)},
        }
        spec["faults"] = [
            self._fault(i, spec) for i in range(chance.choice([0, 0, 1, 1, 1, 2, 2, 3]))
        ]
        if self.sometimes(20):
            spec["abort"] = True
        return spec

    def _topic(self, name: str, brokers: int) -> Spec:
        factor = self.chance.randint(1, min(3, brokers))
        topic = {
            "name": name,
            "partitions": self.chance.randint(1, 4),
            "replicationFactor": factor,
        }
        if self.sometimes():
            topic["config"] = {"min.insync.replicas": str(self.chance.randint(1, factor))}
        return topic

    def _producer(self, name: str, topics: list[Spec]) -> Spec:
        acks = self.chance.choice(["all", 1, 0])
        producer: Spec = {
            "name": name,
            "topic": self.chance.choice(topics)["name"],
            "replicas": self.chance.randint(1, 2),
            "acks": acks,
            "recordsPerSecond": self.chance.randint(1, 10),
            "valueBytes": self.chance.choice([128, 200, 1000]),
        }
        if acks == "all" and self.sometimes():
            producer["transactional"] = {"abortPermille": self.chance.choice([0, 100])}
        return producer

    def _consumer(self, name: str, topics: list[Spec]) -> Spec:
        read = self.chance.sample(topics, self.chance.randint(1, len(topics)))
        return {
            "name": name,
            "topics": [topic["name"] for topic in read],
            "group": f"group-{name}",
            "replicas": self.chance.randint(1, 3),
            "commit": self.chance.choice(["AfterProcessing", "BeforeProcessing", "Auto"]),
            "isolation": self.chance.choice(["read_committed", "read_uncommitted"]),
        }

    @staticmethod
    def _transform(consumer: Spec, topics: list[Spec]) -> None:
        first, second = (topic["name"] for topic in topics[:2])
        consumer |= {
            "topics": [first],
            "commit": "Transactional",
            "isolation": "read_committed",
            "output": {"topic": second},
        }

    def _fault(self, number: int, spec: Spec) -> Spec:
        action = self.chance.choice(list(Action))
        fault: Spec = {
            "name": f"fault-{number}",
            "action": action.value,
            "delay": self.seconds(5),
            "target": self._target(action, spec),
        }
        if number and self.sometimes(2):
            event = self.chance.choice(["Started", "Reverted", "Recovered"])
            fault["startsAfter"] = {"fault": f"fault-{number - 1}", "event": event}
        if action is Action.FREEZE_POD:
            fault["duration"] = f"{self.chance.randint(1, 8)}s"
        elif action in {Action.CRASH_POD, Action.DELETE_POD, Action.EVICT_POD, Action.LOSE_DISK}:
            fault["duration"] = self.seconds(8)
        if action is Action.DELETE_POD and self.sometimes():
            fault["gracePeriodSeconds"] = self.chance.randint(0, 10)
        if action is Action.REASSIGN:
            name = fault["target"]["topic"]
            (factor,) = (
                topic["replicationFactor"] for topic in spec["topics"] if topic["name"] == name
            )
            fault["targetReplicas"] = self.chance.sample(range(spec["kafka"]["replicas"]), factor)
        return fault

    def _target(self, action: Action, spec: Spec) -> Spec:  # noqa: C901 - a table of roles
        topic = self.chance.choice(spec["topics"])
        partition = self.chance.randrange(topic["partitions"])
        if action in {Action.REASSIGN, Action.ELECT_PREFERRED_LEADERS, Action.EXTERNAL}:
            chosen = [] if self.sometimes(2) else [partition]
            return {"role": "Partition", "topic": topic["name"], "partitions": chosen}
        roles = ["Broker", "ZooKeeper", "Rack"]
        if action is not Action.ROLLING_RESTART:
            roles += ["PartitionLeader", "Controller", "GroupCoordinator", "ZooKeeperLeader"]
            if topic["replicationFactor"] > 1:
                roles += ["PartitionFollower", "PartitionReplica"]
            if action not in {Action.EVICT_POD, Action.LOSE_DISK}:
                roles += TRAFFIC_ROLES
        role = self.chance.choice(roles)
        target: Spec = {"role": role}
        match role:
            case "PartitionLeader" | "PartitionFollower" | "PartitionReplica":
                target |= {"topic": topic["name"], "partition": partition}
            case "Rack":
                target["zone"] = f"zone-{self.chance.choice('abc')}"
            case "GroupCoordinator":
                target["group"] = self.chance.choice(spec["traffic"]["consumers"])["group"]
            case "Broker" | "ZooKeeper":
                replicas = spec["kafka" if role == "Broker" else "zookeeper"]["replicas"]
                if self.sometimes(2):
                    target["ordinals"] = [self.chance.randrange(replicas)]
                elif self.sometimes(2):
                    target["count"] = self.chance.randint(1, replicas)
            case _:
                pass
        return target


def _spoil(chance: random.Random, spec: Spec) -> str:
    """Make one mistake; return the field that a refusal must name."""
    mistakes: list[Mistake] = [*MISTAKES, *(FAULT_MISTAKES if spec["faults"] else ())]
    field, change = chance.choice(mistakes)
    change(spec)
    return field


def _set(*path: str | int, to: Any) -> Mistake:
    def change(spec: Any) -> None:
        for part in path[:-1]:
            spec = spec[part]
        spec[path[-1]] = to

    return ".".join(str(part) for part in path), change


MISTAKES = (
    _set("kafka", "replicas", to=0),
    _set("kafka", "replicas", to=10),
    _set("kafka", "replicas", to="three"),
    _set("kafka", "config", to={"num.io.threads\nlog.dirs": "8"}),
    _set("kafka", "config", to={"num.io.threads": "8\nlog.dirs=/"}),
    _set("kafka", "brokers", to=3),
    _set("zookeeper", "replicas", to=8),
    _set("placement", "separateZooKeeper", to="Always"),
    _set("topics", to=[]),
    _set("topics", 0, "name", to="__mine"),
    _set("topics", 0, "partitions", to=65),
    _set("topics", 0, "replicationFactor", to=None),
    _set("traffic", "producers", to=[]),
    _set("traffic", "producers", 0, "acks", to="2"),
    _set("traffic", "producers", 0, "name", to="Producer"),
    _set("traffic", "producers", 0, "recordsPerSecond", to=0),
    _set("traffic", "producers", 0, "valueBytes", to=127),
    _set("traffic", "consumers", 0, "group", to="a group"),
    _set("traffic", "consumers", 0, "commit", to="Never"),
    _set("traffic", "consumers", 0, "replicas", to=-1),
    _set("traffic", "consumers", 0, "topics", to="topic-0"),
    _set("warmup", to="soon"),
    _set("seed", to=-1),
    _set("cleanup", to="Maybe"),
    _set("evidence", "claimName", to="My claim"),
    _set("ttlSecondsAfterFinished", to="1h"),
    _set("timeout", to="1h"),
)
FAULT_MISTAKES = (
    _set("faults", 0, "action", to="Explode"),
    _set("faults", 0, "name", to="fault 0"),
    _set("faults", 0, "delay", to="-1s"),
    _set("faults", 0, "duration", to=3),
    _set("faults", 0, "target", to=None),
    _set("faults", 0, "target", "role", to="Leader"),
    _set("faults", 0, "target", "partition", to=-1),
    _set("faults", 0, "gracePeriodSeconds", to=3601),
    _set("faults", 0, "startsAfter", to={"event": "Finished"}),
    _set("faults", 0, "lasts", to="3s"),
)
