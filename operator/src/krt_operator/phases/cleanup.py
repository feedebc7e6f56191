"""CleaningUp: revert open faults, delete what the run built, then finish the run.

The scoring Job, the scorecard, the plan and the evidence stay. The verdict is already set.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_contract.control import ControlState
from krt_contract.labels import LABEL_COMPONENT, Component
from krt_operator import names
from krt_operator.api.spec import Cleanup
from krt_operator.api.status import Phase
from krt_operator.build.members import build_budgets, build_members
from krt_operator.build.shared import ROLES, build_control_map
from krt_operator.constants import BUSY, CLEANUP_PATIENCE, CLOSING_PATIENCE
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, Progress
from krt_operator.engine.views import JobView, ObjectView
from krt_operator.faults.actions import freeze_pod
from krt_operator.faults.hold import end_open_faults
from krt_operator.health.traffic import control_state
from krt_operator.phases import outcome

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
        Component.PRODUCER,
        Component.CONSUMER,
        Component.RECORDER,
        Component.PREFLIGHT,
        Component.TOOL,
    }
)
"""Components whose pods are deleted at the end."""

WRITERS: Final = frozenset({Component.PRODUCER, Component.CONSUMER, Component.RECORDER})
"""Components that write evidence and are given time to finish first."""

MEMBER_GRACE: Final = 1
"""Grace period of a member's pod in seconds: its volume is deleted with it."""


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """Clean up in two passes at least: first the writers close, then everything is deleted."""
    plan = run.plan
    if plan is None:
        # Nothing is built before the plan is written.
        return outcome.finish(run.status, observed.at)
    since = observed.at - (journal.started(run.status, Phase.CLEANING_UP) or observed.at)
    control = observed.config_maps.get(names.control(plan.name))
    over = control_state(observed, plan) in {ControlState.DONE, ControlState.ABORT}
    if control is not None and not over:
        version = ObjectView(control).resource_version
        abort = build_control_map(plan, ControlState.ABORT, resource_version=version)
        return Progress(requeue_after=BUSY, apply=(abort,))
    if run.spec.cleanup is Cleanup.RETAIN:
        return _retain(run, plan, observed, ports)
    writing = [
        pod
        for pod in observed.pod_views()
        if _component(pod) in WRITERS and not pod.ended and not pod.deleting
    ]
    if writing and since < timedelta(seconds=CLOSING_PATIENCE):
        return Progress(requeue_after=BUSY / 2)
    left = _deletions(run, plan, observed)
    deleting = {pod.uid for pod in observed.pod_views() if pod.deleting}
    if not left or since > timedelta(seconds=CLEANUP_PATIENCE):
        return _finish(run, observed)
    return Progress(
        requeue_after=BUSY,
        delete=tuple(deletion for deletion in left if deletion.uid not in deleting),
    )


def _retain(run: Run, plan: Plan, observed: Observed, ports: Ports) -> Progress:
    """Revert open faults, then finish: the members stay."""
    thaws = tuple(_thaws(run, observed))
    since = observed.at - (journal.started(run.status, Phase.CLEANING_UP) or observed.at)
    if thaws and since < timedelta(seconds=CLEANUP_PATIENCE):
        return Progress(requeue_after=BUSY / 2, side_effects=thaws)
    reverted = (
        build_members(plan, ports.settings.image_pull_policy) if _built(observed, plan) else []
    )
    return replace(_finish(run, observed), apply=tuple(reverted))


def _finish(run: Run, observed: Observed) -> Progress:
    """Finish the run; the journal has no open fault after that either."""
    finished = outcome.finish(run.status, observed.at)
    return replace(finished, changes=(*end_open_faults(run.status, observed.at), *finished.changes))


def _thaws(run: Run, observed: Observed) -> Iterator[SideEffect]:
    """The side effects that continue frozen processes whose pods are to stay."""
    for entry in freeze_pod.open_freezes(run.spec.faults, run.status.faults):
        frozen = freeze_pod.still_frozen(entry, observed)
        if frozen:
            yield freeze_pod.thaw_now(entry, frozen, observed)


def _deletions(run: Run, plan: Plan, observed: Observed) -> list[Deletion]:
    """What is left to delete, pods first.

    The kubelet uses the grace period of the first deletion. If a StatefulSet were deleted before
    its pod, that would be the pod's own grace period, all of which brokers without ZooKeeper use.
    No pod is created meanwhile: a StatefulSet waits until its pod is gone.
    """
    pods = [pod for pod in observed.pod_views() if _component(pod) in TRANSIENT]
    jobs = [JobView(job) for job in observed.jobs.values()]
    tools = [job for job in jobs if _component(job) == Component.TOOL]
    found = [_deletion("Pod", pod, MEMBER_GRACE) for pod in pods]
    found += _deletions_of("StatefulSet", observed.stateful_sets.values())
    found += [_deletion("Job", job) for job in tools]
    if outcome.ending(run.status) == outcome.ABORTED:
        # A scoring Job that has ended stays for its log.
        scoring = [job for job in jobs if _component(job) != Component.TOOL and not job.ended]
        found += [_deletion("Job", job) for job in scoring]
    found += _deletions_of("PersistentVolumeClaim", observed.claims.values())
    of_members = {names.of_member(plan.name, member.member) for member in plan.members}
    config_maps = [obj for name, obj in observed.config_maps.items() if name in of_members]
    found += _deletions_of("ConfigMap", config_maps)
    built = {names.of_member(plan.name, names.peers(broker.member)) for broker in plan.brokers}
    built |= of_members | {ObjectView(budget).name for budget in build_budgets(plan)}
    built |= {f"{plan.name}-{suffix}" for suffix in ROLES if suffix != "scoring"}
    for (kind, name), obj in sorted(observed.others.items()):
        if name in built:
            found += _deletions_of(kind, [obj])
    return found


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
