"""Where the recorder reads the history of leaders, epochs, ISR, brokers and controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from krt_contract.metadata import HistorySource
from krt_traffic.errors import RecordingError
from krt_traffic.recorder.metadata_log.history import MetadataLogHistory
from krt_traffic.recorder.zookeeper_history import ZooKeeperHistory

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_contract.sinks.sink import Sink
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline


class ClusterHistory(Protocol):
    """A source of the history. Each writes the same events; docs/concepts/traffic.md lists them."""

    def start(self) -> None:
        """Begin; returns at once, whether the cluster is there or not."""

    def stop(self) -> None:
        """End.

        Raises:
            RecordingError: what is missing at the end could not be recorded.
        """


def cluster_history(
    plan: Plan, sink: Sink, incarnation: str, timeline: Timeline, failures: Failures
) -> ClusterHistory:
    """Return the source of a plan's cluster, not started.

    Raises:
        RecordingError: the bundle cannot be written, or no recorder reads that source.
    """
    match plan.metadata.source:
        case HistorySource.ZOOKEEPER:
            return ZooKeeperHistory(plan, timeline, failures)
        case HistorySource.METADATA_LOG:
            return MetadataLogHistory(
                plan, sink.lines("metadata_log"), incarnation, timeline, failures
            )
        case source:
            raise RecordingError(
                f"this recorder cannot read a cluster's history from {source}; use the traffic "
                "image of the controller's release"
            )
