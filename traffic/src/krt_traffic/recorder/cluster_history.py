"""Where the recorder reads the history of leaders, epochs, ISR, brokers and controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from krt_contract.metadata import HistorySource
from krt_traffic.recorder.metadata_log.history import MetadataLogHistory
from krt_traffic.recorder.polling.history import PollingHistory
from krt_traffic.recorder.zookeeper_history import ZooKeeperHistory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from krt_contract.kafka_login import Login
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


def cluster_history(  # noqa: PLR0913 (what the sources need, each a part of it)
    plan: Plan,
    sink: Sink,
    incarnation: str,
    timeline: Timeline,
    failures: Failures,
    *,
    version: Callable[[str], None],
    features: Callable[[Mapping[str, int]], None],
    login: Login,
    secrets: Path,
) -> ClusterHistory:
    """Return the source of a plan's cluster, not started.

    Args:
        plan: names the source, and how to reach it.
        sink: the bundle.
        incarnation: the recorder's pod uid.
        timeline: where events go.
        failures: starts threads.
        version: takes the version of Kafka, of a source that tells it. Of members that were
            deployed, their logs do.
        features: takes the finalized features and their levels, with KRaft.
        login: how the nodes of a secured cluster are logged in to.
        secrets: the folder of its files.

    Raises:
        RecordingError: the bundle cannot be written.
    """
    match plan.metadata.source:
        case HistorySource.ZOOKEEPER:
            return ZooKeeperHistory(plan, timeline, failures, login=login, secrets=secrets)
        case HistorySource.METADATA_LOG:
            records = sink.lines("metadata_log")
            return MetadataLogHistory(
                plan, records, incarnation, timeline, failures, features=features, login=login
            )
        case HistorySource.POLLING:
            return PollingHistory(
                plan, timeline, failures, version=version, features=features, login=login
            )
