"""CleaningUp: revert what is held, take away what the run built, then say that it is over.

The scoring Job, the scorecard, the plan and the evidence stay. The verdict is set already.
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
from krt_operator.constants import BUSY, CLEANUP_PATIENCE, FAREWELL
from krt_operator.engine import journal
from krt_operator.engine.ports import Deletion, Progress
from krt_operator.faults.actions import freeze_pod
from krt_operator.faults.hold import end_open_faults
from krt_operator.health import pod_state
from krt_operator.phases import outcome
from krt_operator.phases.keepalive import control_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_operator.engine.ports import (
        Act,
        Json,
        Observed,
        Ports,
        Run,
    )
    from krt_operator.plan.plan import Plan

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
"""Components whose pods go at the end."""

WRITERS: Final = frozenset({Component.PRODUCER, Component.CONSUMER, Component.RECORDER})
"""Components that write evidence and are let finish first."""

MEMBER_GRACE: Final = 1
"""Seconds a member has at the end: what it holds is taken away with it."""


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """Take away one layer a pass: first the writers close, then everything goes."""
    plan = run.plan
    if plan is None:
        # Nothing was built before the plan was written.
        return outcome.finish(run.status, world.at)
    since = world.at - (journal.started(run.status, Phase.CLEANING_UP) or world.at)
    told = control_state(world, plan)
    control = world.config_maps.get(names.control(plan.name))
    if control is not None and told not in {ControlState.DONE, ControlState.ABORT}:
        version = str(control["metadata"].get("resourceVersion", ""))
        stop = build_control_map(plan, ControlState.ABORT, resource_version=version)
        return Progress(requeue_after=BUSY, apply=(stop,))
    if run.spec.cleanup is Cleanup.RETAIN:
        return _retain(run, plan, world, ports)
    writing = [
        pod
        for pod in world.pods.values()
        if _component(pod) in WRITERS and not pod_state.over(pod) and not pod_state.leaving(pod)
    ]
    if writing and since < timedelta(seconds=FAREWELL):
        return Progress(requeue_after=BUSY / 2)
    rest = _rest(run, plan, world)
    going = {pod["metadata"]["uid"] for pod in world.pods.values() if pod_state.leaving(pod)}
    if not rest or since > timedelta(seconds=CLEANUP_PATIENCE):
        return _finish(run, world)
    return Progress(requeue_after=BUSY, delete=tuple(one for one in rest if one.uid not in going))


def _retain(run: Run, plan: Plan, world: Observed, ports: Ports) -> Progress:
    """Let back whatever is held or frozen, then end: the members stay."""
    thaws = tuple(_thaws(run, world))
    since = world.at - (journal.started(run.status, Phase.CLEANING_UP) or world.at)
    if thaws and since < timedelta(seconds=CLEANUP_PATIENCE):
        return Progress(requeue_after=BUSY / 2, acts=thaws)
    reverted = build_members(plan, ports.settings.image_pull_policy) if _built(world, plan) else []
    return replace(_finish(run, world), apply=tuple(reverted))


def _finish(run: Run, world: Observed) -> Progress:
    """The end, with nothing held any more in the journal either."""
    done = outcome.finish(run.status, world.at)
    return replace(done, changes=(*end_open_faults(run.status, world.at), *done.changes))


def _thaws(run: Run, world: Observed) -> Iterator[Act]:
    """What continues the processes that a freeze holds, where their pods are to stay."""
    for entry in freeze_pod.open_freezes(run.spec.faults, run.status.faults):
        frozen = freeze_pod.still_frozen(entry, world)
        if frozen:
            yield freeze_pod.thaw_now(entry, frozen, world)


def _rest(run: Run, plan: Plan, world: Observed) -> list[Deletion]:
    """What is still to go, pods first.

    The kubelet keeps to the grace of the deletion it hears of first. Were a StatefulSet deleted
    before its pod, that would be the pod's own grace, and brokers without ZooKeeper use all of
    it. Nothing comes back meanwhile: a StatefulSet waits for its pod to be gone.
    """
    found = [
        _deletion("Pod", one, MEMBER_GRACE)
        for one in world.pods.values()
        if _component(one) in TRANSIENT
    ]
    found += [_deletion("StatefulSet", one) for one in world.stateful_sets.values()]
    tools = [one for one in world.jobs.values() if _component(one) == Component.TOOL]
    found += [_deletion("Job", one) for one in tools]
    if outcome.ending(run.status) == outcome.ABORTED:
        # Nobody waits for it any more; a finished one stays for what it logged.
        found += [
            _deletion("Job", one)
            for one in world.jobs.values()
            if one not in tools and not _complete(one)
        ]
    found += [_deletion("PersistentVolumeClaim", one) for one in world.claims.values()]
    of_members = {names.of_member(plan.name, one.member) for one in plan.members}
    found += [
        _deletion("ConfigMap", one) for name, one in world.config_maps.items() if name in of_members
    ]
    gone = {names.of_member(plan.name, names.peers(one.member)) for one in plan.brokers}
    gone |= of_members | {one["metadata"]["name"] for one in build_budgets(plan)}
    gone |= {f"{plan.name}-{suffix}" for suffix in ROLES if suffix != "scoring"}
    found += [
        _deletion(kind, one) for (kind, name), one in sorted(world.others.items()) if name in gone
    ]
    return found


def _deletion(kind: str, obj: Json, grace: int | None = None) -> Deletion:
    meta = obj["metadata"]
    return Deletion(kind, meta["name"], meta["uid"], grace)


def _component(pod: Json) -> str:
    return str(pod["metadata"].get("labels", {}).get(LABEL_COMPONENT, ""))


def _complete(job: Json) -> bool:
    conditions = job.get("status", {}).get("conditions") or []
    return any(one["type"] in {"Complete", "Failed"} for one in conditions)


def _built(world: Observed, plan: Plan) -> bool:
    return any(
        names.of_member(plan.name, one.member) in world.stateful_sets for one in plan.members
    )
