"""The Kafka port of a world: brokers whose pods are ready, topics as they were created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from krt_contract.labels import LABEL_MEMBER
from krt_operator import names
from krt_operator.api.times import to_micros
from krt_operator.errors import TransientError
from krt_operator.kafka.views import (
    NO_BROKER,
    Bounds,
    Broker,
    ClusterView,
    GroupMember,
    GroupView,
    Partition,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from tests.unit.operator.doubles.world import World

    from krt_contract.entries import Topic
    from krt_contract.kafka_refusal import Refusal


KNOWN = {
    *("advertised.listeners", "broker.id", "broker.rack", "inter.broker.listener.name"),
    *("listener.security.protocol.map", "listeners", "log.dirs", "min.insync.replicas"),
    *("num.io.threads", "num.network.threads", "zookeeper.connect"),
    *("zookeeper.connection.timeout.ms", "zookeeper.session.timeout.ms"),
    *("broker.session.timeout.ms", "process.roles", "node.id", "authorizer.class.name"),
}
"""Some of the settings that a broker has a type for, and that are no passwords."""


class FakeKafka:
    """The Kafka port: brokers whose pods are ready, topics as they were created."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __enter__(self) -> Self:
        if self.world.silent_kafka or self.world.kafka_refusal:
            raise TransientError("no broker answers")
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def refusal(self) -> Refusal | None:
        return self.world.kafka_refusal

    def view(self) -> ClusterView:
        silent = self.world.silent_brokers()
        known = {*self.racks(), *self.world.fell, *self._frozen()} - silent
        return ClusterView(
            tuple(Broker(one, "host") for one in sorted(known)),
            min(known, default=NO_BROKER),
            tuple(
                partition_view(topic.name, number, self._replicas(topic, number), silent)
                for topic in self.world.topics.values()
                for number in topic.assignment
            ),
        )

    def led_partitions(self, topics: Sequence[str]) -> dict[int, frozenset[tuple[str, int]]]:
        view = self.view()
        led = {(p.topic, p.partition) for p in view.partitions if p.leader != NO_BROKER}
        return {
            broker.id: frozenset(
                (topic, number)
                for topic, number in led
                if topic in topics and (broker.id, topic, number) not in self.world.unheard
            )
            for broker in view.brokers
        }

    def _frozen(self) -> set[int]:
        """Brokers that are stopped, of which Kafka may not know yet."""
        return {
            int(pod["metadata"]["labels"][LABEL_MEMBER].removeprefix("kafka-"))
            for pod in self.world.up("kafka")
            if pod["metadata"]["name"] in self.world.frozen
        }

    def _replicas(self, topic: Topic, number: int) -> tuple[int, ...]:
        return self.world.replicas.get((topic.name, number), tuple(topic.assignment[number]))

    def racks(self) -> dict[int, str]:
        found = {}
        for pod in self.world.serving("kafka"):
            settings = self._file(pod["metadata"]["labels"][LABEL_MEMBER])
            number = settings.get("node.id") or settings["broker.id"]
            found[int(number)] = settings["broker.rack"]
        return found

    def broker_config(self, broker: int) -> dict[str, str | None]:
        """As a broker answers: defaults, and all it was given; unknown types count as passwords."""
        given = self._file(f"kafka-{broker}")
        defaults = dict.fromkeys(KNOWN, "")
        hidden = dict.fromkeys(name for name in given if name not in KNOWN)
        return {**defaults, **given, **hidden}

    def changed_broker_config(self, broker: int) -> dict[str, str]:
        return {k: v for k, v in self._file(f"kafka-{broker}").items() if k in KNOWN}

    def _file(self, member: str) -> dict[str, str]:
        config_map = self.world.objects["ConfigMap", names.of_member(self.world.name, member)]
        lines = config_map["data"]["server.properties"].splitlines()
        return dict(line.replace("\\:", ":").split("=", 1) for line in lines)

    def topic_configs(self, topics: Sequence[str]) -> dict[str, dict[str, str]]:
        """The value of a topic, else of the controllers' file, or without them of the brokers'."""
        default = self._cluster_settings().get("min.insync.replicas", "1")
        return {
            name: {"min.insync.replicas": default, **self.world.topics[name].config}
            for name in topics
        }

    def _cluster_settings(self) -> dict[str, str]:
        kraft = "t-controller-0" in self.world.names_of("Service")
        return self._file("controller-0" if kraft else "kafka-0")

    def create_topics(self, topics: Sequence[Topic]) -> None:
        self.world.kafka_calls.append(("create", tuple(one.name for one in topics)))
        for one in topics:
            self.world.topics.setdefault(one.name, one)

    def delete_topics(self, topics: Sequence[str]) -> None:
        self.world.kafka_calls.append(("delete topics", tuple(topics)))
        running = [
            *self.world.up("producer"),
            *self.world.up("consumer"),
        ]
        assert not running, "a client would create the topic again"
        if self.world.undeletable is not None:
            raise self.world.undeletable
        for name in topics:
            self.world.topics.pop(name, None)

    def delete_groups(self, groups: Sequence[str]) -> None:
        self.world.kafka_calls.append(("delete groups", tuple(groups)))

    def missing_rights(
        self, topics: Sequence[str], adopted: Sequence[str], groups: Sequence[str]
    ) -> list[str]:
        assert {*topics, *adopted} <= self.world.topics.keys()
        assert groups
        return self.world.missing_rights

    def bounds(self, topics: Sequence[str]) -> list[Bounds]:
        if self.world.bounds_take:
            self.world.tick(self.world.bounds_take)
        at, moving = to_micros(self.world.time), self.world.restless_log
        consumers = self.world.test["spec"]["traffic"]["consumers"]
        # A consumer with an output has an open transaction as long as it runs.
        made = {
            one["output"]["topic"]
            for one in consumers
            if one.get("output")
            and not self.world.over(f"{self.world.name}-consumer-{one['name']}-0")
        }
        return [
            Bounds(
                topic=name,
                partition=number,
                taken_at=at,
                log_start=0,
                high_watermark=end + (at % 1000 if moving else 0),
                last_stable=end - (1 if moving or name in made else 0),
                leader=ids[0],
                leader_epoch=0,
                isr=ids,
            )
            for name in topics
            for number in self.world.topics[name].assignment
            for ids in (self._replicas(self.world.topics[name], number),)
            for end in (self._end(name),)
        ]

    def _end(self, topic: str) -> int:
        return self.world.old_records.get(topic, 0) + int(self.world.written)

    def offsets_since(
        self, partitions: Sequence[tuple[str, int]], since: datetime
    ) -> Mapping[tuple[str, int], int]:
        age = (self.world.time - since).total_seconds()
        if age <= self.world.write_takes:
            return {}
        before = max(0, int(self.world.written - 100 * age))
        return {key: self.world.old_records.get(key[0], 0) + before for key in partitions}

    def elect_preferred(self, partitions: Sequence[tuple[str, int]]) -> Mapping[str, str]:
        # The first replica always leads in this double, so no election is ever needed.
        assert {topic for topic, _ in partitions} <= self.world.topics.keys()
        return {}

    def group(self, group: str) -> GroupView:
        (entry,) = (
            consumer
            for consumer in self.world.test["spec"]["traffic"]["consumers"]
            if consumer["group"] == group
        )
        committed = {
            (topic, number): self._end(topic)
            for topic in entry["topics"]
            for number in (
                self.world.topics[topic].assignment if topic in self.world.topics else ()
            )
        }
        members = tuple(
            GroupMember(f"m{number}", "c", f"h{number}", ())
            for number in range(entry.get("replicas", 1))
        )
        return GroupView(group, "Stable", 0, members, committed)


def partition_view(
    topic: str, number: int, replicas: tuple[int, ...], silent: frozenset[int]
) -> Partition:
    """The first replica in sync leads."""
    isr = tuple(broker for broker in replicas if broker not in silent)
    return Partition(topic, number, isr[0] if isr else NO_BROKER, replicas, isr)
