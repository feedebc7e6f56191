"""The members of a cluster under test: names, ports, and which broker is which member."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_contract.fields import Fields

KAFKA_PORT: Final = 9092
"""Where clients reach a broker."""
ZOOKEEPER_PORT: Final = 2181
"""Where clients reach a ZooKeeper server."""
CONTROLLER_PORT: Final = 9093
"""Where brokers, other controllers and the recorder reach a KRaft controller."""
CONTROLLER_ID_BASE: Final = 100
"""``node.id`` of the KRaft controller with ordinal 0. Brokers count from 0, and a node id belongs
to one node only."""


class MemberKind(StrEnum):
    """What a member runs; also the value of its component label."""

    KAFKA = "kafka"
    ZOOKEEPER = "zookeeper"
    CONTROLLER = "controller"
    """A dedicated KRaft controller."""


_PREFIXES: Final = {
    MemberKind.KAFKA: "kafka",
    MemberKind.ZOOKEEPER: "zk",
    MemberKind.CONTROLLER: "controller",
}
_PORTS: Final = {
    MemberKind.KAFKA: KAFKA_PORT,
    MemberKind.ZOOKEEPER: ZOOKEEPER_PORT,
    MemberKind.CONTROLLER: CONTROLLER_PORT,
}


@dataclass(frozen=True, slots=True)
class Member:
    """A broker, ZooKeeper server or KRaft controller and where it runs.

    Attributes:
        member: ``kafka-0``, ``zk-0``, ``controller-0``.
        kind: what it runs.
        ordinal: the broker's id; myid is ordinal + 1 for ZooKeeper, node.id is CONTROLLER_ID_BASE
            + ordinal for a controller.
        zone: value of the rack's topology key that it is bound to; empty where it is unknown.
        pod: name of its pod; empty where it has none.
        host: address inside the cluster, without the port.
    """

    member: str
    kind: MemberKind
    ordinal: int
    zone: str = ""
    pod: str = ""
    host: str = ""

    @property
    def address(self) -> str:
        """``host:port`` for clients."""
        return f"{self.host}:{_PORTS[self.kind]}"

    @property
    def node_id(self) -> int:
        """``node.id`` of a broker or controller; ``myid`` of a ZooKeeper server."""
        match self.kind:
            case MemberKind.KAFKA:
                return self.ordinal
            case MemberKind.ZOOKEEPER:
                return self.ordinal + 1
            case MemberKind.CONTROLLER:
                return CONTROLLER_ID_BASE + self.ordinal

    @classmethod
    def read(cls, fields: Fields) -> Member:
        """Read an entry of ``members`` of the plan."""
        return cls(
            member=fields.word("member"),
            kind=fields.choice("kind", MemberKind),
            ordinal=fields.integer("ordinal"),
            zone=fields.text("zone", default=""),
            pod=fields.text("pod", default=""),
            host=fields.text("host", default=""),
        )

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {**asdict(self), "kind": str(self.kind)}


def member_name(kind: str, ordinal: int) -> str:
    """Return ``kafka-0`` for ("kafka", 0), ``zk-1`` for ("zookeeper", 1)."""
    return f"{_PREFIXES[MemberKind(kind)]}-{ordinal}"


def member_of(broker: int | str) -> str:
    """Return the member that is the broker of this id."""
    return f"{_PREFIXES[MemberKind.KAFKA]}-{broker}"


def broker_of(member: str) -> int | None:
    """Return the broker id of a member; None where it is not a broker."""
    prefix, _, ordinal = member.rpartition("-")
    return int(ordinal) if prefix == _PREFIXES[MemberKind.KAFKA] and ordinal.isdigit() else None


def kind_of(member: str) -> MemberKind | None:
    """Return what a member runs; None where the name is no member's."""
    prefix = member.rpartition("-")[0]
    return next((kind for kind, start in _PREFIXES.items() if start == prefix), None)


def join_addresses(members: Iterable[Member]) -> str:
    """Return ``host:port`` of each member, comma-joined as clients take it."""
    return ",".join(item.address for item in members)
