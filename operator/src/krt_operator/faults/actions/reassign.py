"""Reassign: moves partitions to other brokers, with Kafka's own tool in a Job.

The tool submits the move and ends; then Kafka copies. The fault is injected when Kafka has accepted
the move. The cluster has recovered when the partitions have the requested replicas, all in sync.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.api.status import Observation, ObservationKind
from krt_operator.build.tools import build_reassign_job
from krt_operator.engine.progress import SideEffect
from krt_operator.engine.views import JobView
from krt_operator.faults.action import FaultAction, Outcome
from krt_operator.faults.partitions import target_partitions
from krt_operator.faults.reports import parse_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.engine.views import Json
    from krt_operator.faults.action import FaultContext

JOB_TIMEOUT: Final = timedelta(seconds=120)
"""How long the Job may take: scheduling a pod, starting a JVM, brokers that are failing over."""


class Reassign(FaultAction):
    """Runs Kafka's reassignment tool in a Job for all partitions of the target."""

    runs_in_job = True

    def moved_partitions(self, fault: Fault, plan: Plan) -> Sequence[tuple[str, int]]:
        """All partitions of the target."""
        return target_partitions(fault, plan)

    def act(self, ctx: FaultContext) -> SideEffect:
        """Create the Job; where its name exists, nothing is done."""
        moves = dict.fromkeys(target_partitions(ctx.fault, ctx.plan), ctx.fault.target_replicas)
        name = job_name(ctx, ctx.entry.attempt)
        job = build_reassign_job(ctx.plan, name, moves, ctx.ports.settings.image_pull_policy)

        def perform(ports: Ports) -> Sequence[Change]:
            ports.cluster.create(job)
            return []

        return SideEffect(f"start {name}", perform)

    def outcome(self, ctx: FaultContext) -> Outcome:
        """What the tool reported, or why its Job failed."""
        name = job_name(ctx, ctx.entry.attempt)
        job = ctx.observed.jobs.get(name)
        if job is None:
            return Outcome(requested=False, pending=(name,), timeout=JOB_TIMEOUT)
        terminated = _terminated(ctx, job)
        if terminated is None:
            failure = JobView(job).failure
            if not failure:
                return Outcome(pending=(name,), timeout=JOB_TIMEOUT)
            return Outcome(failures={name: failure}, timeout=JOB_TIMEOUT)
        report = parse_report(terminated)
        if report.at is None:
            return Outcome(failures={name: report.error}, timeout=JOB_TIMEOUT)
        accepted = Observation(
            kind=ObservationKind.REASSIGNMENT_ACCEPTED,
            subject=name,
            at=report.at,
            detail=f"to brokers {list(ctx.fault.target_replicas)}",
        )
        return Outcome(observations=(accepted,), timeout=JOB_TIMEOUT)


def job_name(ctx: FaultContext, attempt: int) -> str:
    """The Job of an attempt, by the fault's index: test and fault name would be too long."""
    index = [fault.name for fault in ctx.plan.spec.faults].index(ctx.fault.name)
    return names.fault_job(ctx.plan.name, index, attempt)


def _terminated(ctx: FaultContext, job: Json) -> Json | None:
    pod = JobView(job).pod(ctx.pods.values())
    return pod.containers[0].terminated if pod is not None and pod.containers else None
