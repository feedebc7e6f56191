"""The history of a KRaft cluster: its metadata log, and when its quorum was lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from krt_contract.cluster_security import without_user
from krt_contract.kafka_connector import connector
from krt_traffic.recorder import CLIENT_ID
from krt_traffic.recorder.metadata_log.follower import Follower
from krt_traffic.recorder.metadata_log.quorum import QuorumWatch
from krt_traffic.recorder.metadata_log.store import LogStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krt_contract.kafka_login import Login
    from krt_contract.plan import Plan
    from krt_contract.sinks.sink import LineFolder
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline


class MetadataLogHistory:
    """Follows the metadata log of a plan's cluster.

    Args:
        plan: names controllers, brokers and the cluster's id.
        records: the folder that the records go into.
        incarnation: the recorder's pod uid.
        timeline: where events go.
        failures: starts the threads.
        features: takes the finalized features and their levels.
        login: how brokers are logged in to. Controllers know no user, and take the certificate.

    Raises:
        RecordingError: the folder cannot be written.
    """

    def __init__(  # noqa: PLR0913 (whom to read, where to write, and the recorder's services)
        self,
        plan: Plan,
        records: LineFolder,
        incarnation: str,
        timeline: Timeline,
        failures: Failures,
        *,
        features: Callable[[Mapping[str, int]], None],
        login: Login,
    ) -> None:
        by_certificate = replace(login, security=without_user(login.security))
        self._follower = Follower(
            {item.node_id: item.address for item in plan.controllers},
            plan.metadata.cluster_id,
            LogStore(records, incarnation),
            timeline,
            failures=failures,
            features=features,
            connect=connector(by_certificate, CLIENT_ID),
        )
        brokers = [item for item in plan.bootstrap.split(",") if item]
        self._quorum = QuorumWatch(
            brokers, self._follower.silence, timeline, failures, connector(login, CLIENT_ID)
        )

    def start(self) -> None:
        """Begin; returns at once."""
        self._follower.start()
        self._quorum.start()

    def stop(self) -> None:
        """End; errors as of ``Follower.stop``."""
        self._quorum.stop()
        self._follower.stop()
