"""The Kafka port on the simulated cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Self

from krt_operator.api.times import to_micros
from krt_operator.errors import TransientError
from krt_operator.kafka.views import (
    Bounds,
    ClusterView,
    GroupMember,
    GroupView,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from tests.unit.operator.faults.doubles.cluster import SimulatedCluster

    from krt_contract.entries import Topic


class SimulatedKafka:
    """Asks the broker that makes the client wait longest."""

    def __init__(self, sim: SimulatedCluster, bootstrap: str) -> None:
        self.sim = sim
        asked = {server.partition(":")[0] for server in bootstrap.split(",")}
        brokers = {broker.pod for broker in sim.plan.brokers if broker.host in asked}
        self._silent = sim.silent or bool(brokers & sim.frozen.keys())

    def __enter__(self) -> Self:
        return self

    def refusal(self) -> None:
        """It lets everybody in."""

    def missing_rights(self, *_names: Sequence[str]) -> list[str]:
        return []

    def __exit__(self, *exc: object) -> None:
        return

    def view(self) -> ClusterView:
        self.sim.time += timedelta(seconds=5 if self._silent else self.sim.answers_after)
        if self._silent or not self.sim.view().brokers:
            raise TransientError("no broker answers")
        return self.sim.view()

    def led_partitions(self, topics: Sequence[str]) -> dict[int, frozenset[tuple[str, int]]]:
        raise NotImplementedError(topics)

    def broker_config(self, broker: int) -> Mapping[str, str | None]:
        raise NotImplementedError

    def racks(self) -> Mapping[int, str]:
        raise NotImplementedError

    def topic_configs(self, topics: Sequence[str]) -> dict[str, dict[str, str]]:
        raise NotImplementedError(topics)

    def create_topics(self, topics: Sequence[Topic]) -> None:
        raise NotImplementedError

    def changed_broker_config(self, broker: int) -> dict[str, str]:
        raise NotImplementedError(broker)

    def delete_topics(self, topics: Sequence[str]) -> None:
        raise NotImplementedError(topics)

    def delete_groups(self, groups: Sequence[str]) -> None:
        raise NotImplementedError(groups)

    def bounds(self, topics: Sequence[str]) -> list[Bounds]:
        at = to_micros(self.sim.time)
        return [
            Bounds(p.topic, p.partition, at, 0, 1000, 1000, p.leader, 1, p.isr)
            for p in self.view().partitions
            if p.topic in topics
        ]

    def offsets_since(
        self, partitions: Sequence[tuple[str, int]], since: datetime
    ) -> Mapping[tuple[str, int], int]:
        raise NotImplementedError

    def elect_preferred(self, partitions: Sequence[tuple[str, int]]) -> Mapping[str, str]:
        self.view()
        self.sim.elections += 1
        refused = {}
        for topic, number in partitions:
            if self.sim.replicas[number][0] in self.sim.dead():
                refused[f"{topic}-{number}"] = "the preferred leader is not available"
            else:
                self.sim.leaders.pop(number, None)
        return refused

    def group(self, group: str) -> GroupView:
        self.view()
        members = tuple(
            GroupMember(pod["metadata"]["uid"], name, pod["status"]["podIP"], ())
            for name, pod in self.sim.pods.items()
            if name.startswith("t-consumer-c-") and self.sim.joined(name)
        )
        committed = {("foo", number): 990 for number in range(3)}
        return GroupView(group, "Stable", 1, members, committed)
