"""The history of a ZooKeeper cluster: its nodes, and which of its servers leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_traffic.recorder.quorum import Quorum
from krt_traffic.recorder.znodes import Znodes

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline


class ZooKeeperHistory:
    """Watches ZooKeeper's nodes and asks its servers.

    Args:
        plan: names the servers.
        timeline: where events go.
        failures: starts the threads.
    """

    def __init__(self, plan: Plan, timeline: Timeline, failures: Failures) -> None:
        self._znodes = Znodes(plan.zookeeper, timeline, failures)
        self._quorum = Quorum(plan.zookeeper_addresses, timeline, failures)

    def start(self) -> None:
        """Begin; returns at once."""
        self._znodes.start()
        self._quorum.start()

    def stop(self) -> None:
        """End; errors as of ``Znodes.stop``."""
        self._quorum.stop()
        self._znodes.stop()
