"""What a phase may ask of the Kafka under test, and change on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import datetime

    from krt_contract.entries import Topic
    from krt_contract.kafka_refusal import Refusal
    from krt_operator.kafka.views import Bounds, ClusterView, GroupView


class Kafka(Protocol):
    """A short-lived connection to the Kafka under test; every call has its own timeout.

    Raises TransientError where no broker answers in time. Use it as a context manager.
    """

    def __enter__(self) -> Self:
        """The client itself, connected lazily."""
        ...

    def __exit__(self, *exc: object) -> None:
        """Close the connections."""
        ...

    def refusal(self) -> Refusal | None:
        """Why the cluster lets no client in, after a request that nobody answered.

        None where it is not known. It may take seconds, because the listeners are connected to.
        """
        ...

    def view(self) -> ClusterView:
        """Brokers, controller and partitions (internal topics included).

        In KRaft mode the controller is any broker: see `krt_operator.health.quorum`.
        """
        ...

    def led_partitions(self, topics: Sequence[str]) -> Mapping[int, AbstractSet[tuple[str, int]]]:
        """Broker id → the partitions of these topics that this broker itself knows a leader of."""
        ...

    def racks(self) -> Mapping[int, str]:
        """Broker id → the rack it reports; needs the controller to answer."""
        ...

    def broker_config(self, broker: int) -> Mapping[str, str | None]:
        """Every setting of a broker, by name; empty without a value, None where it is hidden.

        A broker hides passwords, and what it was given and does not know.
        """
        ...

    def changed_broker_config(self, broker: int) -> Mapping[str, str]:
        """Settings of a broker that are not Kafka's defaults, without those that it hides."""
        ...

    def topic_configs(self, topics: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Topic → every setting that is effective for it, by name; empty without a value."""
        ...

    def create_topics(self, topics: Sequence[Topic]) -> None:
        """Create those that do not exist; an existing one is left alone."""
        ...

    def delete_topics(self, topics: Sequence[str]) -> None:
        """Delete these topics; one that does not exist is passed over."""
        ...

    def delete_groups(self, groups: Sequence[str]) -> None:
        """Delete these groups, which have no members; one that does not exist is passed over."""
        ...

    def missing_rights(
        self, topics: Sequence[str], adopted: Sequence[str], groups: Sequence[str]
    ) -> Sequence[str]:
        """The ACLs that the user lacks for a run with these topics and groups, in words.

        Topics that were adopted are not deleted.
        """
        ...

    def bounds(self, topics: Sequence[str]) -> list[Bounds]:
        """The bounds of every partition of these topics, by (topic, partition)."""
        ...

    def offsets_since(
        self, partitions: Sequence[tuple[str, int]], since: datetime
    ) -> Mapping[tuple[str, int], int]:
        """(topic, partition) → the first offset of a record created at `since` or later.

        A partition is left out where no such record is replicated.
        """
        ...

    def elect_preferred(self, partitions: Sequence[tuple[str, int]]) -> Mapping[str, str]:
        """Elect the first replica of each (topic, partition) its leader.

        Returns the partitions whose election was refused, each with the reason. An election that
        was not needed is not refused.
        """
        ...

    def group(self, group: str) -> GroupView:
        """The group's state as its coordinator reports it."""
        ...
