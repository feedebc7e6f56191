"""CleaningUp: revert open faults, delete what the run built, then finish the run.

The scoring Job, the scorecard, the plan and the evidence stay. The verdict is already set.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_contract.control import ENDING, STATE_KEY, ControlState
from krt_contract.labels import Component
from krt_operator import names
from krt_operator.api.conditions import ConditionType
from krt_operator.api.spec import Cleanup
from krt_operator.api.status import Phase
from krt_operator.build.members import build_members
from krt_operator.build.shared import with_state
from krt_operator.constants import BUSY, CLEANUP_PATIENCE, CLOSING_PATIENCE
from krt_operator.engine import journal
from krt_operator.engine.progress import Progress
from krt_operator.faults.actions import freeze_pod
from krt_operator.faults.hold import end_open_faults, stateful_sets_to_scale
from krt_operator.phases import deletions, outcome
from krt_operator.phases.reference import deletion_of_kafka_objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_operator.api.plan import Plan
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Observed, Run, SideEffect

WRITERS: Final = frozenset({Component.PRODUCER, Component.CONSUMER, Component.RECORDER})
"""Components that write evidence and are given time to finish first."""

THAW_PATIENCE: Final = 10.0
"""Seconds that the end of a run waits for brokers of somebody else to be thawed. A container in
each pod thaws its process when its duration is over, whatever happens here."""


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
        if pod.component in WRITERS and not pod.ended and not pod.deleting
    ]
    if writing and since < timedelta(seconds=CLOSING_PATIENCE):
        return Progress(requeue_after=BUSY / 2)
    scored = journal.is_true(run.status, ConditionType.SCORED)
    left = deletions.at_the_end(observed, scored=scored)
    if left and since <= timedelta(seconds=CLEANUP_PATIENCE):
        return Progress(requeue_after=BUSY / 2, delete=deletions.not_begun(left, observed))
    effect = deletion_of_kafka_objects(run.spec, run.status)
    if effect is not None:
        # After the clients: many clusters create a topic again that a client asks for.
        return Progress(requeue_after=0, side_effects=(effect,))
    named = ", ".join(f"{item.kind} {item.name}" for item in left)
    return outcome.finish(run.status, observed.at, named)


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
        return outcome.finish(run.status, observed.at, ", ".join(down))
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
    return replace(outcome.finish(run.status, observed.at, left), apply=members)


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


def _built(observed: Observed, plan: Plan) -> bool:
    return any(
        names.of_member(plan.name, member.member) in observed.stateful_sets
        for member in plan.members
    )
