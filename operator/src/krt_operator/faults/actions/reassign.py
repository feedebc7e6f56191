"""Reassign: partitions are moved to other brokers, by Kafka's own tool in a Job.

The tool hands the move over and ends; Kafka then copies. The fault is injected when Kafka has
accepted the move and recovered when the replicas are those asked for and all in sync.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.api.status import Observation, ObservationKind
from krt_operator.build.tools import build_reassign_job
from krt_operator.engine.ports import Act
from krt_operator.faults.action import Outcome, until_due
from krt_operator.faults.ephemeral import parse
from krt_operator.faults.partitions import meant
from krt_operator.health import jobs
from krt_operator.health.objects import condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Change, Json, Ports
    from krt_operator.faults.action import Scene

hold = until_due

TOOL_PATIENCE: Final = timedelta(seconds=120)
"""How long the Job may take: a pod to schedule, a JVM to start, brokers that are failing over."""


def job_name(scene: Scene, attempt: int) -> str:
    """The Job of an attempt, by the fault's place: both names together would be too long."""
    place = [one.name for one in scene.plan.spec.faults].index(scene.fault.name)
    return names.fault_job(scene.plan.name, place, attempt)


def act(scene: Scene) -> Act:
    """Create the Job; one of that name is the same."""
    moves = dict.fromkeys(meant(scene.fault, scene.plan), scene.fault.target_replicas)
    name = job_name(scene, scene.entry.attempt)
    job = build_reassign_job(scene.plan, name, moves, scene.ports.settings.image_pull_policy)

    def perform(ports: Ports) -> Sequence[Change]:
        ports.cluster.create(job)
        return []

    return Act(f"start {name}", perform)


def outcome(scene: Scene) -> Outcome:
    """What the tool said."""
    name = job_name(scene, scene.entry.attempt)
    job = scene.world.jobs.get(name)
    if job is None:
        return Outcome(asked=False, pending=(name,), patience=TOOL_PATIENCE)
    ended = _ended(scene, job)
    if ended is None:
        failed = condition(job, "Failed")
        if failed is not None:
            return Outcome(failures={name: jobs.why_failed(failed)}, patience=TOOL_PATIENCE)
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
    pod = jobs.pod_of(job, scene.pods.values())
    for status in (pod or {}).get("status", {}).get("containerStatuses") or []:
        ended: Json | None = status.get("state", {}).get("terminated")
        return ended
    return None
