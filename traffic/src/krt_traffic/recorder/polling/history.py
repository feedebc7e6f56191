"""The history of a cluster that somebody else runs: what its brokers answer, poll by poll."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.kafka_connector import connector
from krt_contract.metadata import MetadataMode
from krt_traffic.recorder import CLIENT_ID
from krt_traffic.recorder.polling.fold import Fold
from krt_traffic.recorder.polling.poller import Poller
from krt_traffic.recorder.polling.quorum import QuorumPoll

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from krt_contract.kafka_login import Login
    from krt_contract.plan import Plan
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline

INTERNAL = ("__consumer_offsets", "__transaction_state")
"""Kafka's own topics, which decide what may become of commits and transactions."""


class PollingHistory:
    """Polls the brokers of a plan's cluster.

    Args:
        plan: names bootstrap servers and topics.
        timeline: where events go.
        failures: starts the threads.
        version: takes the version of Kafka that a broker shows.
        features: takes the finalized features and their levels, as a broker reports them.
        login: how brokers are logged in to.
    """

    def __init__(  # noqa: PLR0913 (whom to read, where to write, and the recorder's services)
        self,
        plan: Plan,
        timeline: Timeline,
        failures: Failures,
        *,
        version: Callable[[str], None],
        features: Callable[[Mapping[str, int]], None],
        login: Login,
    ) -> None:
        bootstrap = [item for item in plan.bootstrap.split(",") if item]
        topics = (*(topic.name for topic in plan.topics), *INTERNAL)
        fold = Fold(plan.metadata.mode)
        connect = connector(login, CLIENT_ID)
        self._poller = Poller(
            bootstrap,
            topics,
            fold,
            timeline,
            failures=failures,
            version=version,
            features=features,
            connect=connect,
        )
        self._quorum = (
            QuorumPoll(self._poller.addresses, self._poller.heard, timeline, failures, connect)
            if plan.metadata.mode is MetadataMode.KRAFT
            else None
        )

    def start(self) -> None:
        """Begin; returns at once."""
        self._poller.start()
        if self._quorum:
            self._quorum.start()

    def stop(self) -> None:
        """End; errors as of ``Poller.stop``."""
        if self._quorum:
            self._quorum.stop()
        self._poller.stop()
