"""The state of a partition in the metadata log: a record of its creation and those of changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

UNCHANGED = -2
"""Leader in a change record that leaves the leader as it is."""
RECOVERING = 1
"""``leaderRecoveryState`` of a leader that was elected from outside ISR and ELR."""


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition after a record.

    Attributes:
        leader: -1 for none.
        leader_epoch: one more with each record that names a leader.
        partition_epoch: one more with each record.
        isr: the in-sync replicas; may be empty where there is an ELR.
        elr: the eligible leader replicas (KIP-966): out of the ISR, but not behind its high
            watermark when they left.
        last_known_elr: who may be elected when nobody is eligible any more.
        recovering: the leader was elected from outside ISR and ELR, and has not been confirmed
            since.
        replicas: the preferred leader first.
    """

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    recovering: bool = False
    replicas: tuple[int, ...] = ()

    @classmethod
    def created(cls, data: Mapping[str, Any]) -> PartitionState:
        """Return the state that a ``PARTITION_RECORD`` gives."""
        return cls(
            leader=int(data.get("leader", -1)),
            leader_epoch=int(data.get("leaderEpoch", -1)),
            partition_epoch=int(data.get("partitionEpoch", -1)),
            isr=tuple(data.get("isr") or ()),
            elr=tuple(data.get("eligibleLeaderReplicas") or ()),
            last_known_elr=tuple(data.get("lastKnownElr") or ()),
            recovering=data.get("leaderRecoveryState", 0) == RECOVERING,
            replicas=tuple(data.get("replicas") or ()),
        )

    def changed(self, data: Mapping[str, Any]) -> PartitionState:
        """Return the state after a ``PARTITION_CHANGE_RECORD``; what it leaves out stays."""
        state = replace(self, partition_epoch=self.partition_epoch + 1)
        leader = int(data.get("leader", UNCHANGED))
        if leader != UNCHANGED:
            state = replace(state, leader=leader, leader_epoch=self.leader_epoch + 1)
        recovery = int(data.get("leaderRecoveryState", -1))
        if recovery >= 0:
            state = replace(state, recovering=recovery == RECOVERING)
        ids: dict[str, Any] = {
            attribute: tuple(data[name])
            for name, attribute in _LISTS.items()
            if data.get(name) is not None
        }
        return replace(state, **ids)

    def detail(self) -> dict[str, Any]:
        """Return it as the detail of a ``partition state``."""
        return {
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "isr": list(self.isr),
            "version": self.partition_epoch,
            "elr": list(self.elr),
            "last_known_elr": list(self.last_known_elr),
            "recovering": self.recovering,
        }


_LISTS = {
    "isr": "isr",
    "eligibleLeaderReplicas": "elr",
    "lastKnownElr": "last_known_elr",
    "replicas": "replicas",
}
"""Field of a change record → attribute of the state."""
