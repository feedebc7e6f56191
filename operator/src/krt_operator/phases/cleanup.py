"""CleaningUp: revert open faults, delete what the run built, then finish the run.

The scoring Job, the scorecard, the plan and the evidence stay. The verdict is already set.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_contract.control import ENDING, STATE_KEY, ControlState
from krt_contract.labels import LABEL_COMPONENT, Component
from krt_operator import names
from krt_operator.api.conditions import ConditionType
from krt_operator.api.spec import Cleanup
from krt_operator.api.status import Phase
from krt_operator.build.members import build_members
from krt_operator.build.shared import with_state
from krt_operator.constants import BUSY, CLEANUP_PATIENCE, CLOSING_PATIENCE
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, Progress
from krt_operator.engine.reading import NETWORK_POLICY
from krt_operator.engine.views import JobView, ObjectView
from krt_operator.faults.actions import freeze_pod
from krt_operator.faults.hold import end_open_faults, stateful_sets_to_scale
from krt_operator.phases import outcome
from krt_operator.phases.reference import deletion_of_kafka_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krt_operator.api.plan import Plan
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Observed, Run, SideEffect
    from krt_operator.engine.views import Json

TRANSIENT: Final = frozenset(
    {
        Component.KAFKA,
        Component.ZOOKEEPER,
        Component.CONTROLLER,
        Component.PRODUCER,
        Component.CONSUMER,
        Component.RECORDER,
        Component.PREFLIGHT,
        Component.TOOL,
    }
)
"""Components whose objects are deleted at the end."""

WRITERS: Final = frozenset({Component.PRODUCER, Component.CONSUMER, Component.RECORDER})
"""Components that write evidence and are given time to finish first."""

THAW_PATIENCE: Final = 10.0
"""Seconds that the end of a run waits for brokers of somebody else to be thawed. A container in
each pod thaws its process when its duration is over, whatever happens here."""

MEMBER_GRACE: Final = 1
"""Grace period of a member's pod in seconds: its volume is deleted with it."""


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """Clean up in two passes at least: first the writers close, then everything is deleted.

    What is deleted is told by labels, so that a plan of another release does not matter.
    """
    since = observed.at - (journal.started(run.status, Phase.CLEANING_UP) or observed.at)
    control = observed.config_maps.get(names.control(run.name))
    if control is not None and control["data"].get(STATE_KEY) not in ENDING:
        return Progress(requeue_after=BUSY, apply=(with_state(control, ControlState.ABORT),))
    retained = run.spec.cleanup is Cleanup.RETAIN
    thaws = tuple(_thaws(run, observed, retained=retained))
    if thaws and since < timedelta(seconds=CLEANUP_PATIENCE if retained else THAW_PATIENCE):
        return Progress(requeue_after=BUSY / 2, side_effects=thaws)
    if retained:
        return _retain(run, observed, ports, since)
    return _delete(run, observed, since)


def _delete(run: Run, observed: Observed, since: timedelta) -> Progress:
    """Let the writers close, delete what the run built, then finish.

    Args:
        run: the run.
        observed: what it built.
        since: for how long it has been cleaned up.
    """
    writing = [
        pod
        for pod in observed.pod_views()
        if _component(pod) in WRITERS and not pod.ended and not pod.deleting
    ]
    if writing and since < timedelta(seconds=CLOSING_PATIENCE):
        return Progress(requeue_after=BUSY / 2)
    scored = journal.is_true(run.status, ConditionType.SCORED)
    left = _deletions(observed, scored=scored)
    if left and since <= timedelta(seconds=CLEANUP_PATIENCE):
        deleting = {pod.uid for pod in observed.pod_views() if pod.deleting}
        return Progress(
            requeue_after=BUSY,
            delete=tuple(deletion for deletion in left if deletion.uid not in deleting),
        )
    effect = deletion_of_kafka_objects(run.spec, run.status)
    if effect is not None:
        # After the clients: many clusters create a topic again that a client asks for.
        return Progress(requeue_after=0, side_effects=(effect,))
    return _finish(run, observed, ", ".join(f"{item.kind} {item.name}" for item in left))


def _retain(run: Run, observed: Observed, ports: Ports, since: timedelta) -> Progress:
    """Let members that faults keep down run again, then finish: the members stay.

    The pass that ends the faults is not the one that finishes. A read older than the last change of
    a StatefulSet would show a member that is down as running, and leave it down for good.
    """
    ended = end_open_faults(run.status, observed.at)
    if run.plan is None:
        down = [
            f"StatefulSet {name} has no replicas (kubectl scale statefulset {name} --replicas=1)"
            for name, obj in observed.stateful_sets.items()
            if not obj["spec"].get("replicas", 1)
        ]
        return _finish(run, observed, ", ".join(down))
    pull_policy = ports.settings.image_pull_policy
    built = _built(observed, run.plan)
    members = tuple(build_members(run.plan, pull_policy)) if built else ()
    if ended:
        return Progress(requeue_after=0, changes=ended, apply=members)
    down = [
        obj["metadata"]["name"]
        for obj in stateful_sets_to_scale(run.plan, run.status, observed, pull_policy)
    ]
    if down and since <= timedelta(seconds=CLEANUP_PATIENCE):
        return Progress(requeue_after=BUSY / 2, apply=members)
    left = ", ".join(f"StatefulSet {name} has no replicas" for name in down)
    return replace(_finish(run, observed, left), apply=members)


def _finish(run: Run, observed: Observed, left: str = "") -> Progress:
    """Finish the run; the journal has no open fault after that either."""
    finished = outcome.finish(run.status, observed.at, left)
    return replace(finished, changes=(*end_open_faults(run.status, observed.at), *finished.changes))


def _thaws(run: Run, observed: Observed, *, retained: bool) -> Iterator[SideEffect]:
    """The side effects that continue frozen processes whose pods are to stay.

    Args:
        run: the run.
        observed: its pods, and those of somebody else's brokers.
        retained: whether the run's own pods stay; those of somebody else do in any case.
    """
    for entry in freeze_pod.open_freezes(run.spec.faults, run.status.faults):
        frozen = [
            target
            for target in freeze_pod.still_frozen(entry, observed, run.spec)
            if retained or target.namespace
        ]
        if frozen:
            yield freeze_pod.thaw_now(entry, frozen, observed, run.spec)


def _deletions(observed: Observed, *, scored: bool) -> list[Deletion]:
    """What is left to delete, pods first.

    The kubelet uses the grace period of the first deletion. If a StatefulSet were deleted before
    its pod, that would be the pod's own grace period, all of which brokers without ZooKeeper use.
    No pod is created meanwhile: a StatefulSet waits until its pod is gone. NetworkPolicies are
    last, so that a pod which is still there keeps its own.
    """
    pods = [pod for pod in observed.pod_views() if _component(pod) in TRANSIENT]
    found = [_deletion("Pod", pod, MEMBER_GRACE) for pod in pods]
    found += _deletions_of("StatefulSet", observed.stateful_sets.values())
    found += [_deletion("Job", job) for job in _jobs_to_delete(observed, scored=scored)]
    found += _deletions_of("PersistentVolumeClaim", observed.claims.values())
    found += _other_deletions(observed)
    policies = [obj for (kind, _), obj in observed.others.items() if kind == NETWORK_POLICY]
    return found or _deletions_of(NETWORK_POLICY, policies)


def _jobs_to_delete(observed: Observed, *, scored: bool) -> list[JobView]:
    """Tools; and scoring that would go on without its cluster. What has ended stays for its log.

    Scoring that has given its result ends by itself in a moment.
    """
    found = []
    for job in map(JobView, observed.jobs.values()):
        pod = job.pod(observed.pods.values())
        ended = job.ended or (pod is not None and pod.ended)
        if _component(job) == Component.TOOL or not (ended or scored):
            found.append(job)
    return found


def _other_deletions(observed: Observed) -> list[Deletion]:
    """Of the other objects of transient components; plan, control, scripts and scoring stay."""
    objects = [("ConfigMap", ObjectView(obj)) for obj in observed.config_maps.values()]
    objects += [(kind, ObjectView(obj)) for (kind, _), obj in sorted(observed.others.items())]
    return [_deletion(kind, obj) for kind, obj in objects if _component(obj) in TRANSIENT]


def _deletions_of(kind: str, objects: Iterable[Json]) -> list[Deletion]:
    return [_deletion(kind, ObjectView(obj)) for obj in objects]


def _deletion(kind: str, obj: ObjectView, grace_seconds: int | None = None) -> Deletion:
    return Deletion(kind, obj.name, obj.uid, grace_seconds)


def _component(obj: ObjectView) -> str:
    return obj.labels.get(LABEL_COMPONENT, "")


def _built(observed: Observed, plan: Plan) -> bool:
    return any(
        names.of_member(plan.name, member.member) in observed.stateful_sets
        for member in plan.members
    )
