"""DumpingReplicas: what every broker's replicas hold is put into the evidence, by one Job a broker.

Only where `spec.evidence.compareReplicas` asks for it. Nothing is written to the topics any more,
so the brokers run on while their volumes are read. What could not be dumped is no reason to stop:
it is told here as a guard, and the scoring finds it missing by itself.
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
from krt_operator.constants import BUSY, COMPARISON_GRACE
from krt_operator.engine import journal
from krt_operator.engine.ports import Deletion, Happening, Progress
from krt_operator.errors import TransientError
from krt_operator.health import jobs, pod_state
from krt_operator.health.objects import condition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_contract.members import Member
    from krt_operator.engine.ports import (
        Change,
        Json,
        Observed,
        Ports,
        Run,
    )

NOT_DUMPED: Final = "ReplicasNotDumped"
"""InconclusiveReason of a broker whose replicas are not in the evidence, or not all of them."""

ENDS: Final = ("Complete", "Failed")
"""Conditions of a Job that is over."""

WRITER: Final = "writer"
"""The container whose termination message says what was dumped."""


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """Start the Jobs once, wait for them, and say what they did."""
    plan = run.plan
    if plan is None:
        raise TransientError("the plan is not there (yet)")
    dumps = {one: world.jobs.get(names.dump_job(plan.name, one.member)) for one in plan.brokers}
    late = _late(run, world)
    missing = [one for one, job in dumps.items() if job is None]
    if missing and not late:
        pull = ports.settings.image_pull_policy
        told = f"what the replicas of {len(dumps)} brokers hold is dumped"
        return Progress(
            requeue_after=BUSY,
            apply=tuple(build_dump_job(plan, one, pull) for one in missing),
            changes=(_say(ConditionStatus.UNKNOWN, "Dumping", told, world),),
            events=(Happening("Dumping", told),),
        )
    under_way = {
        one.member: job
        for one, job in dumps.items()
        if job is not None and not (_over(job) or _broken(job, world))
    }
    if under_way and not late:
        return _waiting(under_way, world)
    return _go_on(run, dumps, world)


def _waiting(under_way: Mapping[str, Json], world: Observed) -> Progress:
    pods = (jobs.pod_of(job, world.pods.values()) for job in under_way.values())
    why = pod_state.obstacles(pod for pod in pods if pod is not None)
    told = "; ".join([f"waiting for {', '.join(under_way)}", *why])
    return Progress(
        requeue_after=BUSY, changes=(_say(ConditionStatus.UNKNOWN, "Dumping", told, world),)
    )


def _go_on(run: Run, dumps: Mapping[Member, Json | None], world: Observed) -> Progress:
    """Go on, whatever became of the Jobs; one that is still at work would write too late."""
    found = {one.member: _said(run, job, world) for one, job in dumps.items()}
    failures = {member: why for member, (_, why) in found.items() if why}
    replicas = sum(counts.get("replicas", 0) for counts, _ in found.values())
    rows = sum(counts.get("rows", 0) for counts, _ in found.values())
    dumped = f"{rows} offsets of {replicas} replicas on {len(dumps)} brokers are in the evidence"
    told = "; ".join([dumped, *(f"{member}: {why}" for member, why in failures.items())])
    status = ConditionStatus.FALSE if failures else ConditionStatus.TRUE
    reason = "NotAllDumped" if failures else "Dumped"
    return Progress(
        requeue_after=0,
        next_phase=Phase.SCORING,
        delete=tuple(
            Deletion("Job", job["metadata"]["name"], job["metadata"]["uid"])
            for job in dumps.values()
            if job is not None and not _over(job)
        ),
        changes=(
            *(
                journal.add_inconclusive_reason(
                    NOT_DUMPED, InconclusiveReasonKind.COVERAGE, f"{member}: {why}", world.at
                )
                for member, why in failures.items()
            ),
            _say(status, reason, told, world),
        ),
        events=(Happening(reason, told, warning=bool(failures)),),
    )


def _said(run: Run, job: Json | None, world: Observed) -> tuple[dict[str, int], str]:
    """What a broker's Job dumped, and what is missing; nothing is where that is empty."""
    if job is None or not condition(job, "Complete"):
        return {}, _why(run, job, world)
    for name, ended in _terminated(job, world):
        told = pod_state.message_json(ended.get("message") or "") if name == WRITER else {}
        counts = told.get("counts")
        if isinstance(counts, dict):
            return counts, str(told.get("error") or "")
    return {}, "its Job ended and did not say what it dumped"


def _why(run: Run, job: Json | None, world: Observed) -> str:
    """Why a Job will not dump any more."""
    broken = _broken(job, world) if job is not None else ""
    if broken:
        return broken
    failed = condition(job, "Failed") if job is not None else None
    why = jobs.why_failed(failed) if failed else f"not done after {run.spec.timeouts.replica_dump}"
    # The pods of a Job that ran out of time are gone; what they waited for was told.
    before = find_condition(run.status.conditions, ConditionType.REPLICAS_DUMPED)
    return f"{why}; {before.message}" if before is not None else why


def _broken(job: Json, world: Observed) -> str:
    """Which containers failed: the other end of the pipe then waits for nobody."""
    return "; ".join(
        f"its {name} exited {ended['exitCode']}: "
        f"{ended.get('message') or ended.get('reason') or 'it said nothing'}"
        for name, ended in _terminated(job, world)
        if ended.get("exitCode")
    )


def _terminated(job: Json, world: Observed) -> Iterator[tuple[str, Json]]:
    """The containers of a Job's pod that have ended, by name."""
    pod = jobs.pod_of(job, world.pods.values())
    statuses: Sequence[Json] = ()
    if pod is not None:
        statuses = pod.get("status", {}).get("containerStatuses") or ()
    for status in statuses:
        ended = status.get("state", {}).get("terminated")
        if ended is not None:
            yield status["name"], ended


def _over(job: Json) -> bool:
    return any(condition(job, one) for one in ENDS)


def _late(run: Run, world: Observed) -> bool:
    start = journal.started(run.status, Phase.DUMPING_REPLICAS) or world.at
    allowed = run.spec.timeouts.replica_dump.seconds + COMPARISON_GRACE
    return world.at > start + timedelta(seconds=allowed)


def _say(status: ConditionStatus, reason: str, told: str, world: Observed) -> Change:
    return journal.say(ConditionType.REPLICAS_DUMPED, status, reason, told, at=world.at)
