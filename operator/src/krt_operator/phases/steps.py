"""Which module takes a run one step further in each phase."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from krt_operator.api.conditions import find_condition
from krt_operator.api.status import ConditionType, Phase
from krt_operator.engine.progress import SideEffect
from krt_operator.errors import UserError
from krt_operator.health.uncreated_pods import uncreated_pods
from krt_operator.health.unmounted_pods import mount_retries
from krt_operator.phases import (
    cleanup,
    draining,
    dumping_replicas,
    injecting,
    outcome,
    pending,
    provisioning,
    scoring,
    warmup,
)
from krt_operator.phases.keepalive import keepalive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.status import Status
    from krt_operator.engine.ports import Ports, Step
    from krt_operator.engine.progress import Change, Observed, Progress, Run
    from krt_operator.engine.views import Json

STEPS: Final[dict[Phase, Step]] = {
    Phase.PENDING: pending.step,
    Phase.PROVISIONING: provisioning.step,
    Phase.WARMUP: warmup.step,
    Phase.INJECTING: injecting.step,
    Phase.DRAINING: draining.step,
    Phase.DUMPING_REPLICAS: dumping_replicas.step,
    Phase.SCORING: scoring.step,
    Phase.CLEANING_UP: cleanup.step,
}

AT_WORK: Final = frozenset({Phase.WARMUP, Phase.INJECTING, Phase.DRAINING, Phase.DUMPING_REPLICAS})
"""Phases in which members and traffic are kept running."""

BUILDING_PODS: Final = frozenset({Phase.PROVISIONING, Phase.DUMPING_REPLICAS, Phase.SCORING})
"""Phases that wait for pods which StatefulSets or Jobs create, and for nothing else."""


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """One step of the run's phase, with keepalive where members and traffic are at work.

    Raises:
        PlanUnreadableError, ResourceUnreadableError: the run cannot go on. Cleaning up needs
            neither plan nor spec.
    """
    phase = run.status.phase or Phase.PENDING
    if run.spec.abort and phase is not Phase.CLEANING_UP:
        return outcome.aborted(run, observed.at)
    if run.problem is not None and phase is not Phase.CLEANING_UP:
        raise run.problem
    try:
        progress = STEPS[phase](run, observed, ports)
    except UserError as error:
        message = f"{error.field}: {error.message}{_failure(run.status)}"
        return outcome.setup_failed(run, error.reason, message, observed.at)
    if phase in BUILDING_PODS:
        missing = uncreated_pods(observed, scoring=phase is Phase.SCORING)
        progress = replace(
            progress,
            side_effects=(*progress.side_effects, *map(_check_create, missing)),
        )
    if phase is not Phase.CLEANING_UP:
        retries = mount_retries(observed)
        progress = replace(progress, side_effects=(*progress.side_effects, *retries))
    if phase in AT_WORK and run.plan is not None:
        return _merge(progress, keepalive(run, run.plan, observed, ports))
    return progress


def _check_create(pod: Json) -> SideEffect:
    """Ask the API server why a pod is not created; a refusal fails the pass and is reported."""

    def perform(ports: Ports) -> Sequence[Change]:
        ports.cluster.check_create(pod)
        return ()

    return SideEffect(f"ask why {pod['metadata']['name']} is not created", perform)


def _failure(status: Status) -> str:
    """Why the passes before failed, as the end of a message: it may be why time ran out."""
    found = find_condition(status.conditions, ConditionType.RECONCILING)
    if status.reconcile_failure is None or found is None:
        return ""
    return f"; the passes before failed: {found.message}"


def _merge(progress: Progress, kept: Progress) -> Progress:
    """The phase decides first; keepalive applies only what the phase does not."""
    named = {(obj["kind"], obj["metadata"]["name"]) for obj in progress.apply}
    rest = tuple(obj for obj in kept.apply if (obj["kind"], obj["metadata"]["name"]) not in named)
    return replace(
        progress,
        intents=(*progress.intents, *kept.intents),
        apply=(*progress.apply, *rest),
        side_effects=(*progress.side_effects, *kept.side_effects),
        changes=(*progress.changes, *kept.changes),
        events=(*progress.events, *kept.events),
    )
