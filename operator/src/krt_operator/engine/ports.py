"""What a phase is given and what it gives back: the seams of the controller.

A phase is `step(run, world, ports) -> Progress`: it looks (at `run` and `world`, and through
`ports` at Kafka), decides, and returns. It never sleeps, loops or writes to the API server; the
engine (`reconcile.py`) does what the `Progress` says, in this order:

1. `intents` are written to status with the resourceVersion that was read. A conflict ends the pass.
2. `apply`, then `delete`, then `acts` are carried out.
3. `changes`, what the acts returned, and `next_phase` are written to status in one write.

So an irreversible act is in the journal before it is done, and a process killed anywhere finds,
after its restart, an intent whose act it may repeat: acts are idempotent by a deterministic name
or a uid precondition. `next_phase` in the same Progress as `apply` is safe, being written last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from datetime import datetime

    from krt_contract.entries import Topic
    from krt_operator.api.spec import Spec
    from krt_operator.api.status import Phase, Status
    from krt_operator.app.settings import Settings
    from krt_operator.kafka.views import Bounds, ClusterView, GroupView
    from krt_operator.plan.plan import Plan

Json = dict[str, Any]
"""A Kubernetes object, or a part of one, as the API server speaks it."""

Change = Callable[["Status"], "Status"]
"""A pure function from a status to the next; applied to the status that was just read."""


@dataclass(frozen=True)
class Run:
    """One test as it was read at the start of this pass.

    Attributes:
        namespace: where the test and everything it owns live.
        name: metadata.name, T in object names.
        uid: metadata.uid, the run's identity in evidence and selectors.
        generation: metadata.generation.
        resource_version: what status writes of this pass must still find.
        deleting: metadata.deletionTimestamp is set.
        spec: the resolved spec (every default filled in).
        status: the journal.
        created: metadata.creationTimestamp, the order of the queue.
        raw: the object as the API server gave it.
        plan: what the run was resolved to; None until Pending has written it.
    """

    namespace: str
    name: str
    uid: str
    generation: int
    resource_version: str
    deleting: bool
    spec: Spec
    status: Status
    created: datetime
    raw: Json = field(default_factory=dict)
    plan: Plan | None = None


@dataclass(frozen=True)
class Observed:
    """The run's children, listed by `kafkaresilience.dev/test-uid`, at one moment.

    Each mapping is keyed by metadata.name and holds the object as the API server gave it; `others`
    is keyed by (kind, name) and is filled only while a phase builds (services, budgets, accounts).
    """

    at: datetime
    pods: Mapping[str, Json] = field(default_factory=dict)
    stateful_sets: Mapping[str, Json] = field(default_factory=dict)
    claims: Mapping[str, Json] = field(default_factory=dict)
    jobs: Mapping[str, Json] = field(default_factory=dict)
    config_maps: Mapping[str, Json] = field(default_factory=dict)
    others: Mapping[tuple[str, str], Json] = field(default_factory=dict)

    def find(self, kind: str, name: str) -> Json | None:
        """The observed object of this kind and name, or None."""
        by_kind = {
            "Pod": self.pods,
            "StatefulSet": self.stateful_sets,
            "PersistentVolumeClaim": self.claims,
            "Job": self.jobs,
            "ConfigMap": self.config_maps,
        }
        if kind in by_kind:
            return by_kind[kind].get(name)
        return self.others.get((kind, name))


@dataclass(frozen=True)
class Deletion:
    """One object to delete, by identity.

    Attributes:
        kind: the Kubernetes kind, for example `Pod`.
        name: its name, in the run's namespace.
        uid: precondition; None deletes whatever bears the name (only for objects named after us).
        grace_seconds: `gracePeriodSeconds` of the delete call; None leaves Kubernetes' default.
    """

    kind: str
    name: str
    uid: str | None = None
    grace_seconds: int | None = None


@dataclass(frozen=True)
class Eviction:
    """What the API server said to an eviction; neither where the pod was already gone.

    Attributes:
        evicted: the pod is being deleted.
        refused: why its disruption budget does not allow that, in the API server's words.
    """

    evicted: bool = False
    refused: str = ""


@dataclass(frozen=True)
class Act:
    """An irreversible deed whose intent is in the journal (this Progress' `intents` or before).

    `perform` is called after the intents are written; the changes it returns go into the second
    status write. It must be idempotent. It may raise TransientError: the pass ends, the intent
    stays, and the next step returns the act again.
    """

    what: str
    perform: Callable[[Ports], Sequence[Change]]


@dataclass(frozen=True)
class Happening:
    """A Kubernetes event for people, at a transition; `reason` is CamelCase, `message` short."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True)
class Progress:
    """What one step decided; see the module's docstring for the order it is carried out in.

    Attributes:
        requeue_after: seconds until the next pass (a pod event may come first).
        next_phase: the phase to enter; the transition table must allow it.
    """

    requeue_after: float = 2.0
    next_phase: Phase | None = None
    intents: tuple[Change, ...] = ()
    changes: tuple[Change, ...] = ()
    apply: tuple[Json, ...] = ()
    delete: tuple[Deletion, ...] = ()
    acts: tuple[Act, ...] = ()
    events: tuple[Happening, ...] = ()


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
        """All objects of a kind that bear the labels."""
        ...

    def tests(self) -> Sequence[Json]:
        """Every KafkaResilienceTest the controller looks after, in whatever namespace."""
        ...

    def apply(self, obj: Json) -> Json:
        """Server-side apply with our field manager, forced; returns the object as stored."""
        ...

    def create(self, obj: Json) -> Json:
        """Create; where the name is taken, the object that is there is returned unchanged."""
        ...

    def delete(self, deletion: Deletion) -> bool:
        """Delete; False where it was already gone or the uid is another one's."""
        ...

    def evict(self, deletion: Deletion) -> Eviction:
        """Ask for a pod's eviction by uid; its disruption budget may refuse.

        Evicting a pod that is being deleted already is granted again.
        """
        ...

    def add_ephemeral_container(self, pod: str, uid: str, container: Json) -> Json:
        """Add an ephemeral container to the pod with that uid, once by its name.

        Returns the pod. Where a container of that name is there already, nothing is done.
        Raises GoneError where the pod is gone or is another one.
        """
        ...


class Kafka(Protocol):
    """A short-lived look at the Kafka under test; every call has a timeout of its own.

    Raises TransientError where no broker answers in time. Use it as a context manager.
    """

    def __enter__(self) -> Self:
        """The client itself, connected lazily."""
        ...

    def __exit__(self, *exc: object) -> None:
        """Close the connections."""
        ...

    def view(self) -> ClusterView:
        """Brokers, controller and partitions (internal topics included)."""
        ...

    def racks(self) -> Mapping[int, str]:
        """Broker id → the rack it reports; needs the controller to answer."""
        ...

    def create_topics(self, topics: Sequence[Topic]) -> None:
        """Create those that do not exist; an existing one is left alone."""
        ...

    def bounds(self, topics: Sequence[str]) -> list[Bounds]:
        """The bounds of every partition of these topics, by (topic, partition)."""
        ...

    def offsets_since(
        self, partitions: Sequence[tuple[str, int]], since: datetime
    ) -> Mapping[tuple[str, int], int]:
        """(topic, partition) → the first offset of a record created at `since` or later.

        A partition is left out where no such record is replicated.
        """
        ...

    def elect_preferred(self, partitions: Sequence[tuple[str, int]]) -> Mapping[str, str]:
        """Elect the first replica of each (topic, partition) its leader.

        Returns partition names to why the election was refused; one that was not needed was not.
        """
        ...

    def group(self, group: str) -> GroupView:
        """What the coordinator knows of a group."""
        ...


@dataclass(frozen=True)
class Ports:
    """Everything a phase may reach besides its arguments.

    Attributes:
        kafka: opens an admin client on a bootstrap string.
        four_letter: sends a ZooKeeper four-letter word to `host`, returns the answer; raises
            TransientError where nobody answers.
        settings: what the installation gave: images, storage class, limits.
    """

    cluster: Cluster
    clock: Clock
    kafka: Callable[[str], Kafka]
    four_letter: Callable[[str, str], str]
    settings: Settings


Step = Callable[[Run, Observed, Ports], Progress]
"""One step of a phase: looks, decides, returns; see the docstring of this module."""
