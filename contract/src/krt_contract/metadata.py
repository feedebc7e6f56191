"""Where a Kafka cluster keeps its metadata, and which source tells its history."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.fields import Fields


class MetadataMode(StrEnum):
    """Where the cluster keeps its metadata; the values are those of `spec.kafka.metadata.mode`."""

    ZOOKEEPER = "ZooKeeper"
    KRAFT = "KRaft"


class HistorySource(StrEnum):
    """Where the history of leaders, epochs, ISR, brokers and controller was read."""

    ZOOKEEPER = "zookeeper"
    """Watches on ZooKeeper's nodes."""
    METADATA_LOG = "metadata-log"
    """The committed records of the KRaft metadata log."""
    POLLING = "polling"
    """Repeated metadata requests to every broker."""

    @property
    def strength(self) -> Strength:
        """How complete a history of this source is."""
        return _STRENGTHS[self]


class Strength(StrEnum):
    """How complete a history is."""

    COMPLETE = "Complete"
    """Every state, in order: that something did not happen can be proved."""
    WATCHED = "Watched"
    """States may be missed; their versions tell that, and the brokers' logs tell them."""
    OBSERVED = "Observed"
    """States may be missed without a trace: that something did not happen cannot be proved."""


_STRENGTHS = {
    HistorySource.ZOOKEEPER: Strength.WATCHED,
    HistorySource.METADATA_LOG: Strength.COMPLETE,
    HistorySource.POLLING: Strength.OBSERVED,
}


@dataclass(frozen=True, slots=True)
class Metadata:
    """`metadata` of the plan.

    Attributes:
        mode: where the cluster keeps its metadata.
        cluster_id: the id that KRaft members are formatted with; empty with ZooKeeper, which
            makes its own.
        referenced: somebody else runs the cluster: the plan has no members and no ZooKeeper, and
            only what its brokers answer to a client tells its history.
        features: feature that the cluster has finalized → its level, as the recorder found them;
            empty before, with ZooKeeper, and of a cluster that does not report them.
    """

    mode: MetadataMode = MetadataMode.ZOOKEEPER
    cluster_id: str = ""
    referenced: bool = False
    features: Mapping[str, int] = field(default_factory=dict)

    @property
    def source(self) -> HistorySource:
        """Which source tells the history of the cluster."""
        if self.referenced:
            return HistorySource.POLLING
        if self.mode is MetadataMode.KRAFT:
            return HistorySource.METADATA_LOG
        return HistorySource.ZOOKEEPER

    @classmethod
    def read(cls, fields: Fields) -> Metadata:
        """Read `metadata` of the plan."""
        return cls(
            mode=fields.choice("mode", MetadataMode),
            cluster_id=fields.text("clusterId", default=""),
            referenced=fields.flag("referenced", default=False),
            features=fields.numbers("features"),
        )

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        document: dict[str, Any] = {"mode": str(self.mode), "clusterId": self.cluster_id}
        if self.referenced:
            document["referenced"] = True
        if self.features:
            document["features"] = dict(self.features)
        return document
