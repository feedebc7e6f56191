"""What a phase is given and how the engine carries out what it decides.

A phase is `step(run, observed, ports) -> Progress`: it reads `run` and `observed`, asks Kafka
through `ports`, decides, and returns. It never sleeps, loops or writes to the API server; the
engine (`reconcile.py`) carries out the `Progress` in this order:

1. `intents` are written to status with the resourceVersion that was read. A conflict ends the pass.
2. `apply`, then `delete`, then `side_effects` are carried out.
3. `changes`, what the side effects returned, and `next_phase` are written to status in one write.

An irreversible change is therefore in the journal before it is made. A controller that was killed
finds the intent after its restart and may repeat the side effect, which is idempotent: it uses a
deterministic name or a uid precondition. `next_phase` and `apply` may be in one Progress, because
the phase is written last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from krt_operator.engine.credentials import Credentials
from krt_operator.engine.login import own_login, read_login

if TYPE_CHECKING:
    from datetime import datetime

    from krt_contract.kafka_login import Login
    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Spec
    from krt_operator.api.status import TargetPod
    from krt_operator.app.settings import Settings
    from krt_operator.engine.kafka import Kafka
    from krt_operator.engine.progress import Deletion, Eviction, Observed, Progress, Run
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import Quorum


class Clock(Protocol):
    """The one source of time."""

    def now(self) -> datetime:
        """Now, aware, UTC."""
        ...


class Cluster(Protocol):
    """The API server, bound to one run's namespace (cluster-scoped kinds ignore it).

    Every method raises TransientError (no answer, 429, 5xx), ConflictError (409) or RefusedError.
    """

    def get(self, kind: str, name: str) -> Json | None:
        """The object, or None where there is none."""
        ...

    def list(self, kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Json]:
        """All objects of a kind that have the labels."""
        ...

    def tests(self) -> Sequence[Json]:
        """Every KafkaResilienceTest in the namespaces that the controller watches."""
        ...

    def apply(self, obj: Json) -> Json:
        """Create it, or change the one with its uid or, where it has none, with its owner.

        Returns the object as stored; a pod that exists is never changed.
        Raises NameTakenError where an object of somebody else has the name.
        """
        ...

    def create(self, obj: Json) -> Json:
        """Create; where the name is taken, the object that is there is returned unchanged."""
        ...

    def create_unread(self, obj: Json) -> None:
        """Create; where the name is taken, nothing. Needs no right to read objects of the kind."""
        ...

    def check_create(self, obj: Json) -> None:
        """Ask whether an object would be created, without creating it.

        Raises RefusedError where it would not.
        """
        ...

    def delete(self, deletion: Deletion) -> bool:
        """Delete; False where the object was already gone or has another uid."""
        ...

    def evict(self, deletion: Deletion) -> Eviction:
        """Evict a pod by uid; its disruption budget may refuse.

        Evicting a pod that is already being deleted succeeds.
        """
        ...

    def annotate_pod(self, pod: str, uid: str, annotations: Mapping[str, str]) -> None:
        """Annotate the pod with that uid, unless it is gone."""
        ...

    def add_ephemeral_container(self, pod: str, uid: str, container: Json) -> Json:
        """Add an ephemeral container to the pod with that uid, once by its name.

        Returns the pod, unchanged where it already has a container of that name.
        Raises GoneError where the pod is gone or has another uid.
        """
        ...


class Pods(Protocol):
    """What a fault does to a pod, by name and uid."""

    def delete(self, deletion: Deletion) -> bool:
        """Delete; False where the object was already gone or has another uid."""
        ...

    def add_ephemeral_container(self, pod: str, uid: str, container: Json) -> Json:
        """Add an ephemeral container, once by its name; see `Cluster`."""
        ...


class BrokerPods(Pods, Protocol):
    """The pods of `spec.kafkaRef.pods`: those of one namespace that have the labels, and no others.

    Raises what `Cluster` raises. A pod without the labels counts as gone.
    """

    def list(self) -> Sequence[Json]:
        """All pods that have the labels."""
        ...

    def missing_rights(self) -> Sequence[str]:
        """What the controller may not do with these pods, as `verb resource`; empty: nothing."""
        ...

    def account(self) -> str:
        """The user that the controller is to the API server, such as a service account."""
        ...


@dataclass(frozen=True)
class Ports:
    """Everything a phase may reach besides its arguments.

    Attributes:
        kafka: opens an admin client on a bootstrap string, which logs in with a login.
        four_letter: sends a ZooKeeper four-letter word to `host`, with a login, and returns the
            answer; raises TransientError where there is none.
        describe_quorum: asks a KRaft controller at `host:port`, with a login, for the quorum it
            leads; None where it leads none. Raises TransientError where there is no answer.
        broker_pods: reaches the pods with these labels in a namespace, for `spec.kafkaRef.pods`.
        addresses: resolves a host to its IP addresses; raises TransientError where it has none.
        settings: values of the installation: images, storage class, limits.
        installation_key: what the credentials of secured clusters are derived from. Raises
            KafkaAccessError where the controller may not keep it.
    """

    cluster: Cluster
    clock: Clock
    kafka: Callable[[str, Login], Kafka]
    four_letter: Callable[[str, str, Login], str]
    describe_quorum: Callable[[str, Login], Quorum | None]
    settings: Settings
    installation_key: Callable[[], bytes]
    broker_pods: Callable[[str, Mapping[str, str]], BrokerPods]
    addresses: Callable[[str], frozenset[str]]

    def pods_of(self, spec: Spec, target: TargetPod) -> Pods:
        """Where the pod of a target is: among the test's, or at the owner of the brokers."""
        pods = spec.broker_pods
        if not target.namespace or pods is None:
            return self.cluster
        return self.broker_pods(target.namespace, pods.selector.match_labels)

    def connect(self, plan: Plan, bootstrap: str) -> Kafka:
        """Open an admin client on the cluster of a test.

        Raises:
            KafkaAccessError: a Secret that is needed for it cannot be read.
        """
        return self.kafka(bootstrap, self.login(plan))

    def login(self, plan: Plan) -> Login:
        """What the controller logs in with to the cluster of a test.

        Raises:
            KafkaAccessError: a Secret that is needed for it cannot be read.
        """
        if plan.spec.kafka.security is None:
            return read_login(plan.spec, self.cluster)
        return own_login(plan, self.credentials(plan))

    def credentials(self, plan: Plan) -> Credentials:
        """What members and clients of a secured cluster have that the test deploys.

        Raises:
            KafkaAccessError: the installation's key cannot be read.
        """
        return Credentials(self.installation_key(), plan.uid, self.clock.now())


Step = Callable[["Run", "Observed", "Ports"], "Progress"]
"""One step of a phase; see the docstring of this module."""

OnFailure = Callable[["Run", Exception, "datetime"], "Progress"]
"""What follows from a pass that failed: changes of the status, and maybe the end of the run."""
