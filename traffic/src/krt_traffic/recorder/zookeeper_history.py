"""The history of a ZooKeeper cluster: its nodes, and which of its servers leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_traffic.recorder.quorum import Quorum
from krt_traffic.recorder.znodes import Znodes

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.kafka_login import Login
    from krt_contract.plan import Plan
    from krt_traffic.recorder.failures import Failures
    from krt_traffic.recorder.timeline import Timeline


class ZooKeeperHistory:
    """Watches ZooKeeper's nodes and asks its servers.

    Args:
        plan: names the servers.
        timeline: where events go.
        failures: starts the threads.
        login: has the certificate that servers want, where they do. They know no user.
        secrets: the folder of its files.

    Raises:
        ssl.SSLError: a certificate or key does not parse.
    """

    def __init__(
        self, plan: Plan, timeline: Timeline, failures: Failures, *, login: Login, secrets: Path
    ) -> None:
        folder = secrets if login.security.tls else None
        self._znodes = Znodes(plan.zookeeper, timeline, failures, folder)
        self._quorum = Quorum(plan.zookeeper_addresses, timeline, failures, login.ssl_context())

    def start(self) -> None:
        """Begin; returns at once."""
        self._znodes.start()
        self._quorum.start()

    def stop(self) -> None:
        """End; errors as of ``Znodes.stop``."""
        self._quorum.stop()
        self._znodes.stop()
