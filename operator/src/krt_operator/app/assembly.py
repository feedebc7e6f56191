"""Assembles the controller from its parts; the only module that knows them all."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Self

from krt_operator.app.expiry import Sweeper
from krt_operator.app.metrics import Metrics
from krt_operator.app.release import try_to_release
from krt_operator.engine.clock import SystemClock
from krt_operator.engine.events import build_event
from krt_operator.engine.ports import Ports
from krt_operator.engine.reading import observe, read_run
from krt_operator.engine.reconcile import Reconciler
from krt_operator.kafka.addresses import resolve_host
from krt_operator.kafka.admin import KafkaAdmin
from krt_operator.kafka.quorum import describe_quorum
from krt_operator.kafka.zookeeper import four_letter
from krt_operator.kubernetes.broker_pods import ApiBrokerPods
from krt_operator.kubernetes.client import ApiCluster
from krt_operator.kubernetes.installation_key import InstallationKey
from krt_operator.kubernetes.rest import Rest, load_configuration
from krt_operator.phases.failure import on_failure
from krt_operator.phases.reference import release
from krt_operator.phases.steps import step

if TYPE_CHECKING:
    from krt_operator.app.settings import Settings
    from krt_operator.engine.progress import Event


@dataclass(frozen=True)
class Assembly:
    """One connection to the API server, shared by all tests."""

    rest: Rest
    settings: Settings
    metrics: Metrics = field(default_factory=Metrics)

    @cached_property
    def installation_key(self) -> InstallationKey:
        """What credentials of secured clusters are made from, the same for all tests."""
        return InstallationKey(self.rest, self.settings.namespace, self.settings.key_secret)

    @classmethod
    def on_api_server(cls, settings: Settings) -> Self:
        """Connect to the cluster the process runs in, else to that of the kubeconfig."""
        return cls(Rest(load_configuration()), settings)

    def cluster(self, namespace: str) -> ApiCluster:
        """The API server, bound to a namespace."""
        return ApiCluster(self.rest, namespace, self.settings.watch_namespaces)

    def reconciler(self, namespace: str) -> Reconciler:
        """The reconciler of the tests in a namespace."""
        cluster = self.cluster(namespace)
        return Reconciler(cluster, self.ports(cluster), self.metrics, step, on_failure)

    def ports(self, cluster: ApiCluster) -> Ports:
        """Everything that phases may reach."""
        return Ports(
            cluster=cluster,
            clock=SystemClock(),
            kafka=KafkaAdmin,
            four_letter=four_letter,
            describe_quorum=describe_quorum,
            installation_key=self.installation_key.read,
            settings=self.settings,
            broker_pods=lambda namespace, labels: ApiBrokerPods(self.rest, namespace, labels),
            addresses=resolve_host,
        )

    def release(self, namespace: str, name: str) -> str:
        """Delete what a deleted test has on a cluster that somebody else runs.

        Returns:
            What is waited for, or why it could not be deleted, as an event says on the test; empty
            where nothing is left.

        Raises:
            KrtError: the test could not be read.
        """
        cluster = self.cluster(namespace)
        raw = cluster.read_test(name)
        if raw is None:
            return ""
        ports = self.ports(cluster)
        run = read_run(raw, ports.clock.now())
        # Every failure has the time of the deletion: the same one is the same event.
        at = datetime.fromisoformat(raw["metadata"]["deletionTimestamp"])

        def emit(event: Event) -> None:
            cluster.emit(build_event(namespace, name, run.uid, event, at))

        return try_to_release(
            f"{namespace}/{name}",
            lambda: release(run, observe(ports, run.name, run.uid, run.status.phase), ports),
            emit,
        )

    def sweeper(self) -> Sweeper:
        """What deletes finished tests whose ttlSecondsAfterFinished has passed."""
        namespaces = self.settings.watch_namespaces
        return Sweeper(self.cluster, namespaces, SystemClock(), self.metrics)

    def check(self) -> str:
        """Ask the API server for its version.

        Raises:
            TransientError, RefusedError: it does not answer.
        """
        return str(self.rest.call("GET", "/version").get("gitVersion", ""))
