"""DumpingReplicas: the offsets of every broker's replicas become evidence, by one Job per broker.

The phase is entered only where `spec.evidence.compareReplicas` is set. Nothing is written to the
topics any more, so the brokers go on while their volumes are read. A broker whose replicas could
not be dumped does not stop the run: it becomes an inconclusive reason here, and scoring finds its
offsets missing by itself.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.api.conditions import find_condition
from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    InconclusiveReasonKind,
    Phase,
)
from krt_operator.build.tools import build_dump_job
from krt_operator.constants import BUSY, REPLICA_DUMP_GRACE
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, Event, Progress
from krt_operator.errors import TransientError
from krt_operator.health import pod_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.members import Member
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed, Run
    from krt_operator.engine.views import ContainerView, JobView

NOT_DUMPED: Final = "ReplicasNotDumped"
"""Inconclusive reason of a broker whose replicas are missing from the evidence, or some of them."""

WRITER: Final = "writer"
"""The container whose termination message counts what was dumped."""


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """Start the Jobs once, wait for them, and report what they dumped."""
    plan = run.plan
    if plan is None:
        raise TransientError("the ConfigMap of the plan does not exist yet")
    dumps = {
        broker: observed.job(names.dump_job(plan.name, broker.member)) for broker in plan.brokers
    }
    late = _late(run, observed)
    missing = [broker for broker, job in dumps.items() if job is None]
    if missing and not late:
        pull = ports.settings.image_pull_policy
        message = f"dumping the replicas of {len(dumps)} brokers"
        return Progress(
            requeue_after=BUSY,
            apply=tuple(build_dump_job(plan, broker, pull) for broker in missing),
            changes=(_condition(ConditionStatus.UNKNOWN, "Dumping", message, observed),),
            events=(Event("Dumping", message),),
        )
    under_way = {
        broker.member: job
        for broker, job in dumps.items()
        if job is not None and not (job.ended or _failed_containers(job, observed))
    }
    if under_way and not late:
        return _wait(under_way, observed)
    return _go_on(run, dumps, observed)


def _wait(under_way: Mapping[str, JobView], observed: Observed) -> Progress:
    pods = (job.pod(observed.pods.values()) for job in under_way.values())
    obstacles = pod_state.obstacles(pod for pod in pods if pod is not None)
    message = "; ".join([f"waiting for {', '.join(under_way)}", *obstacles])
    condition = _condition(ConditionStatus.UNKNOWN, "Dumping", message, observed)
    return Progress(requeue_after=BUSY, changes=(condition,))


def _go_on(run: Run, dumps: Mapping[Member, JobView | None], observed: Observed) -> Progress:
    """Enter Scoring, whatever the Jobs did; those that still run would write too late."""
    results = {broker.member: _result(run, job, observed) for broker, job in dumps.items()}
    failures = {member: error for member, (_, error) in results.items() if error}
    replicas = sum(counts.get("replicas", 0) for counts, _ in results.values())
    rows = sum(counts.get("rows", 0) for counts, _ in results.values())
    dumped = f"{rows} offsets of {replicas} replicas on {len(dumps)} brokers are in the evidence"
    message = "; ".join([dumped, *(f"{member}: {error}" for member, error in failures.items())])
    status = ConditionStatus.FALSE if failures else ConditionStatus.TRUE
    reason = "NotAllDumped" if failures else "Dumped"
    return Progress(
        requeue_after=0,
        next_phase=Phase.SCORING,
        delete=tuple(
            Deletion("Job", job.name, job.uid)
            for job in dumps.values()
            if job is not None and not job.ended
        ),
        changes=(
            *(
                journal.add_inconclusive_reason(
                    NOT_DUMPED, InconclusiveReasonKind.COVERAGE, f"{member}: {error}", observed.at
                )
                for member, error in failures.items()
            ),
            _condition(status, reason, message, observed),
        ),
        events=(Event(reason, message, warning=bool(failures)),),
    )


def _result(run: Run, job: JobView | None, observed: Observed) -> tuple[dict[str, int], str]:
    """The counts of a broker's dump, and what is missing from it; empty where nothing is."""
    if job is None or not job.complete:
        return {}, _failure(run, job, observed)
    for container in _terminated(job, observed):
        if container.name != WRITER:
            continue
        message = pod_state.message_json(container.message)
        counts = message.get("counts")
        if isinstance(counts, dict):
            return counts, str(message.get("error") or "")
    return {}, "its Job ended without a count of what it dumped"


def _failure(run: Run, job: JobView | None, observed: Observed) -> str:
    """Why a Job will not dump any more."""
    failed = _failed_containers(job, observed) if job is not None else ""
    if failed:
        return failed
    failure = job.failure if job is not None else ""
    cause = failure or f"not done after {run.spec.timeouts.replica_dump}"
    # The pods of a Job that ran out of time are gone; the condition says what they waited for.
    before = find_condition(run.status.conditions, ConditionType.REPLICAS_DUMPED)
    return f"{cause}; {before.message}" if before is not None else cause


def _failed_containers(job: JobView, observed: Observed) -> str:
    """Which containers failed: the container at the other end of the pipe then waits for ever."""
    return "; ".join(
        f"its {container.name} exited {container.exit_code}: "
        f"{container.message or 'no termination message'}"
        for container in _terminated(job, observed)
        if container.exit_code
    )


def _terminated(job: JobView, observed: Observed) -> list[ContainerView]:
    """The containers of a Job's pod that have ended."""
    pod = job.pod(observed.pods.values())
    containers = () if pod is None else pod.containers
    return [container for container in containers if container.terminated is not None]


def _late(run: Run, observed: Observed) -> bool:
    start = journal.started(run.status, Phase.DUMPING_REPLICAS) or observed.at
    allowed = run.spec.timeouts.replica_dump.seconds + REPLICA_DUMP_GRACE
    return observed.at > start + timedelta(seconds=allowed)


def _condition(status: ConditionStatus, reason: str, message: str, observed: Observed) -> Change:
    return journal.set_condition(
        ConditionType.REPLICAS_DUMPED, status, reason, message, at=observed.at
    )
