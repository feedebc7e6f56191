"""What one broker answered to one poll."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN = -1
"""Id of a broker that was not asked by its id, as of a bootstrap server; of no leader; of no
controller."""


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition as a broker has it.

    Attributes:
        leader: -1 for none that lives.
        replicas: the preferred leader first.
        elr, last_known: eligible leader replicas, and who may be elected when there is none; empty
            where the broker does not tell them.
    """

    leader: int
    epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that the cluster counts as alive."""

    host: str
    port: int
    rack: str = ""

    @property
    def address(self) -> str:
        """Its ``host:port``."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class View:
    """An answer.

    Attributes:
        broker: who answered.
        asked: when it was asked, UTC µs: what the answer says was so then or later.
        at: when the answer was there, UTC µs.
        brokers: broker id → who is alive.
        controller: with ZooKeeper the broker that is the controller, -1 for none. With KRaft any
            broker, which means nothing.
        partitions: as Kafka writes it, ``foo-0`` → its state.
    """

    broker: int
    asked: int
    at: int
    brokers: Mapping[int, Broker]
    controller: int
    partitions: Mapping[str, PartitionView]
