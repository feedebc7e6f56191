"""Reassign: partitions are moved to other brokers, by Kafka's own tool in a Job.

The tool hands the move over and ends; Kafka then copies. The fault is injected when Kafka has
accepted the move and recovered when the replicas are those asked for and all in sync.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.api.status import Observation, ObservationKind
from krt_operator.build.tools import reassign_job
from krt_operator.engine.progress import SideEffect
from krt_operator.engine.views import JobView
from krt_operator.faults.action import Outcome, until_due
from krt_operator.faults.ephemeral import parse
from krt_operator.faults.partitions import meant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.engine.views import Json
    from krt_operator.faults.action import Scene

hold = until_due

TOOL_PATIENCE: Final = timedelta(seconds=120)
"""How long the Job may take: a pod to schedule, a JVM to start, brokers that are failing over."""


def job_name(scene: Scene, attempt: int) -> str:
    """The Job of an attempt, by the fault's place: both names together would be too long."""
    place = [one.name for one in scene.plan.spec.faults].index(scene.fault.name)
    return names.fault_job(scene.plan.name, place, attempt)


def act(scene: Scene) -> SideEffect:
    """Create the Job; one of that name is the same."""
    moves = dict.fromkeys(meant(scene.fault, scene.plan), scene.fault.target_replicas)
    name = job_name(scene, scene.entry.attempt)
    job = reassign_job(scene.plan, name, moves, scene.ports.settings.image_pull_policy)

    def perform(ports: Ports) -> Sequence[Change]:
        ports.cluster.create(job)
        return []

    return SideEffect(f"start {name}", perform)


def outcome(scene: Scene) -> Outcome:
    """What the tool said."""
    name = job_name(scene, scene.entry.attempt)
    job = scene.world.jobs.get(name)
    if job is None:
        return Outcome(asked=False, pending=(name,), patience=TOOL_PATIENCE)
    ended = _ended(scene, job)
    if ended is None:
        failure = JobView(job).failure
        if failure:
            return Outcome(failures={name: failure}, patience=TOOL_PATIENCE)
        return Outcome(pending=(name,), patience=TOOL_PATIENCE)
    report = parse(ended)
    if report.at is None:
        return Outcome(failures={name: report.message}, patience=TOOL_PATIENCE)
    begun = Observation(
        kind=ObservationKind.REASSIGNMENT_ACCEPTED,
        subject=name,
        at=report.at,
        detail=f"to brokers {list(scene.fault.target_replicas)}",
    )
    return Outcome(observations=(begun,), patience=TOOL_PATIENCE)


def _ended(scene: Scene, job: Json) -> Json | None:
    pod = JobView(job).pod(scene.pods.values())
    return pod.containers[0].terminated if pod is not None and pod.containers else None
