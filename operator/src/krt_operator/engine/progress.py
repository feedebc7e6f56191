"""The values that the engine and a phase exchange: what was read, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from krt_operator.engine.views import JobView, Json, PodView

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Spec
    from krt_operator.api.status import Phase, Status, TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.errors import KrtError

Change = Callable[["Status"], "Status"]
"""A pure function from a status to the next; applied to the status that was just read."""


@dataclass(frozen=True)
class Run:
    """One test as it was read at the start of this pass.

    Attributes:
        namespace: where the test and everything it owns live.
        name: metadata.name, T in object names.
        uid: metadata.uid, the run's identity in evidence and selectors.
        spec: the resolved spec (every default filled in).
        status: the journal of the run.
        created: metadata.creationTimestamp, which orders the queue.
        raw: the object as the API server gave it.
        plan: what the run was resolved to; None until Pending has written it, and where it cannot
            be read.
        problem: why the resource or the plan cannot be read by this release; None where they can.
            `spec` and `status` then hold the fields that could be read.
        unread: keys of the status that could not be read.
    """

    namespace: str
    name: str
    uid: str
    spec: Spec
    status: Status
    created: datetime
    raw: Json = field(default_factory=dict)
    plan: Plan | None = None
    problem: KrtError | None = None
    unread: frozenset[str] = frozenset()

    @property
    def bundle(self) -> str:
        """The bundle's path on the evidence claim or in the bucket; the same as in the plan."""
        return f"{self.namespace}/{self.name}/{self.uid}"


@dataclass(frozen=True)
class Observed:
    """The run's children, listed by `kafkaresilience.dev/test-uid`, at one moment.

    Each mapping is keyed by metadata.name and holds the object as the API server gave it; `others`
    is keyed by (kind, name) and is filled only while a phase builds (services, budgets, accounts).
    `broker_pods` are not the run's: the pods of `spec.kafkaRef.pods`, while faults may act on them.
    """

    at: datetime
    pods: Mapping[str, Json] = field(default_factory=dict)
    stateful_sets: Mapping[str, Json] = field(default_factory=dict)
    claims: Mapping[str, Json] = field(default_factory=dict)
    jobs: Mapping[str, Json] = field(default_factory=dict)
    config_maps: Mapping[str, Json] = field(default_factory=dict)
    others: Mapping[tuple[str, str], Json] = field(default_factory=dict)
    broker_pods: Mapping[str, Json] = field(default_factory=dict)

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

    def target_pod(self, target: TargetPod) -> Json | None:
        """The pod that was chosen; None where it is gone, even if another pod has its name now."""
        pod = (self.broker_pods if target.namespace else self.pods).get(target.pod)
        return pod if pod is not None and pod["metadata"]["uid"] == target.uid else None

    def pod(self, name: str) -> PodView | None:
        """The pod of this name, or None."""
        found = self.pods.get(name)
        return None if found is None else PodView(found)

    def pod_views(self) -> tuple[PodView, ...]:
        """Every pod of the run."""
        return tuple(PodView(pod) for pod in self.pods.values())

    def job(self, name: str) -> JobView | None:
        """The Job of this name, or None."""
        found = self.jobs.get(name)
        return None if found is None else JobView(found)


@dataclass(frozen=True)
class Deletion:
    """One object to delete, by identity.

    Attributes:
        kind: the Kubernetes kind, for example `Pod`.
        name: its name, in the run's namespace.
        uid: precondition; None deletes any object of the name (only where the test names it).
        grace_seconds: `gracePeriodSeconds` of the delete call; None uses the default of Kubernetes.
        resource_version: precondition beside the uid, where the object may not have changed; empty
            deletes any version.
    """

    kind: str
    name: str
    uid: str | None = None
    grace_seconds: int | None = None
    resource_version: str = ""


@dataclass(frozen=True)
class Eviction:
    """The API server's answer to an eviction; neither field is set where the pod was already gone.

    Attributes:
        evicted: the pod is being deleted.
        refused: why its disruption budget does not allow the eviction, in the API server's words.
    """

    evicted: bool = False
    refused: str = ""


@dataclass(frozen=True)
class SideEffect:
    """An irreversible change whose intent is in the journal (this Progress' `intents` or before).

    `perform` is called after the intents are written; the changes it returns go into the second
    status write. It must be idempotent. It may raise TransientError: the pass ends, the intent
    stays, and the next step returns the side effect again.

    Attributes:
        description: for the log, for example `delete t-kafka-0-0`.
    """

    description: str
    perform: Callable[[Ports], Sequence[Change]]


@dataclass(frozen=True)
class Event:
    """A Kubernetes event at a transition: a CamelCase reason and a short message."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True)
class Progress:
    """What one step decided; `ports.py` defines the order in which it is carried out.

    Attributes:
        requeue_after: seconds until the next pass.
        next_phase: the phase to enter; the transition table must allow it.
        intents: changes of the status written before anything else is done.
        changes: changes of the status written after everything else is done.
        apply: objects to apply where they differ from what was observed.
        delete: objects to delete.
        side_effects: irreversible changes.
        events: Kubernetes events, emitted last.
    """

    requeue_after: float = 2.0
    next_phase: Phase | None = None
    intents: tuple[Change, ...] = ()
    changes: tuple[Change, ...] = ()
    apply: tuple[Json, ...] = ()
    delete: tuple[Deletion, ...] = ()
    side_effects: tuple[SideEffect, ...] = ()
    events: tuple[Event, ...] = ()
