"""The Kafka port of a world whose cluster somebody else runs: its brokers have no pods."""

from __future__ import annotations

from tests.unit.operator.doubles.kafka import FakeKafka, partition_view

from krt_operator.kafka.views import NO_BROKER, Broker, ClusterView, GroupView


class ReferenceKafka(FakeKafka):
    """The Kafka port: brokers of `World.reference` that are not in `World.reference_down`."""

    def view(self) -> ClusterView:
        self.world.owner.advance()
        down = self.world.reference_down
        ids = [broker for broker in self.world.reference if broker not in down]
        return ClusterView(
            tuple(Broker(broker, f"host-{broker}") for broker in ids),
            ids[0] if ids else NO_BROKER,
            tuple(
                partition_view(topic.name, number, tuple(replicas), down)
                for topic in self.world.topics.values()
                for number, replicas in topic.assignment.items()
            ),
        )

    def racks(self) -> dict[int, str]:
        down = self.world.reference_down
        return {broker: rack for broker, rack in self.world.reference.items() if broker not in down}

    def changed_broker_config(self, broker: int) -> dict[str, str]:
        assert broker in self.world.reference
        return self.world.reference_settings

    def group(self, group: str) -> GroupView:
        """A group whose consumers do not run is there only where somebody else made it."""
        if self.world.up("consumer"):
            return super().group(group)
        committed = {("foo", 0): 7} if group in self.world.groups else {}
        return GroupView(group, "Empty" if committed else "Dead", 0, (), committed)

    def _cluster_settings(self) -> dict[str, str]:
        return self.world.reference_settings
