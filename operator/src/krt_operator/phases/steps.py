"""Which module takes a run one step further in each phase, and what goes with every step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from krt_operator.api.status import Phase
from krt_operator.errors import UserError
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
from krt_operator.phases.keepalive import upkeep

if TYPE_CHECKING:
    from krt_operator.engine.ports import Observed, Ports, Progress, Run, Step

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
"""Phases in which members and traffic are kept standing."""


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """One step of the run's phase, with the upkeep that goes with it."""
    phase = run.status.phase or Phase.PENDING
    if run.spec.abort and phase is not Phase.CLEANING_UP:
        return outcome.aborted(run.status, world.at)
    try:
        progress = STEPS[phase](run, world, ports)
    except UserError as error:
        return outcome.could_not_run(run, error, world.at)
    if phase in AT_WORK and run.plan is not None:
        return _with(progress, upkeep(run, run.plan, world, ports))
    return progress


def _with(progress: Progress, kept: Progress) -> Progress:
    """The phase's own decision goes first; upkeep applies only what it did not."""
    named = {(one["kind"], one["metadata"]["name"]) for one in progress.apply}
    rest = tuple(one for one in kept.apply if (one["kind"], one["metadata"]["name"]) not in named)
    return replace(
        progress,
        apply=(*progress.apply, *rest),
        acts=(*progress.acts, *kept.acts),
        changes=(*progress.changes, *kept.changes),
        events=(*progress.events, *kept.events),
    )
