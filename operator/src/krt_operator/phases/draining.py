"""Draining: producers stop, the log settles, consumers read to its end, the recorder closes.

How far it is lies in the control ConfigMap that traffic and recorder watch: running, stopping,
draining, finished. Each pass moves it one state on, guarded by its resourceVersion.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from krt_operator import journal, names
from krt_operator.api.conditions import find_condition
from krt_operator.api.status import ConditionStatus, ConditionType, GuardKind, Phase
from krt_operator.api.times import from_micros
from krt_operator.build.shared import control_map
from krt_operator.build.traffic import traffic_pods
from krt_operator.constants import BUSY, CALM, RECORDER_PATIENCE
from krt_operator.errors import TransientError
from krt_operator.phases import looking
from krt_operator.phases.settling import as_json, end_offsets, settled
from krt_operator.phases.upkeep import control_state
from krt_operator.ports import Deletion, Happening, Progress

if TYPE_CHECKING:
    from krt_operator.plan import Plan
    from krt_operator.ports import Change, Json, Observed, Ports, Run


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """Move the control on by at most one state."""
    plan = run.plan
    control = world.config_maps.get(names.control(run.name))
    if plan is None or control is None:
        raise TransientError("plan or control are not there (yet)")
    match control_state(world, plan):
        case "running":
            told = "the producers are told to stop"
            return Progress(
                requeue_after=BUSY,
                apply=(control_map(plan, "stopping", resource_version=_version(control)),),
                changes=(_saying("Stopping", told, world),),
                events=(Happening("Draining", told),),
            )
        case "stopping":
            return _settle(run, plan, control, world, ports)
        case "draining":
            return _drain(run, plan, control, world)
        case _:
            return _close(run, plan, world)


def _settle(run: Run, plan: Plan, control: Json, world: Observed, ports: Ports) -> Progress:
    alive = _alive(plan, world, "producer")
    late = _late(run, world)
    if alive and not late:
        return Progress(requeue_after=BUSY / 2)
    before = json.loads(control["data"].get("bounds", "[]"))
    try:
        with ports.kafka(plan.bootstrap) as kafka:
            bounds = [as_json(one) for one in kafka.bounds([one.name for one in plan.topics])]
    except TransientError as error:
        if not late:
            return _saying_only("Settling", f"waiting for Kafka to answer: {error}", world)
        bounds = before
    why = settled(plan, before, bounds)
    version = _version(control)
    if why and not late:
        first = control_map(plan, "stopping", bounds=bounds, resource_version=version)
        return Progress(
            requeue_after=BUSY,
            apply=(first,),
            changes=(_saying("Settling", f"the log is not settled: {why}", world),),
        )
    for one in bounds:
        one["settled"] = not why
    guards: tuple[Change, ...] = ()
    if why:
        told = f"the ends of the log did not settle within {run.spec.timeouts.drain}: {why}"
        guards = (journal.guard("LogNotStable", GuardKind.EVIDENCE, told, world.at),)
    ends = end_offsets(bounds)
    return Progress(
        requeue_after=BUSY,
        apply=(
            control_map(
                plan, "draining", end_offsets=ends, bounds=bounds, resource_version=version
            ),
        ),
        # Before the control moves on: a controller killed in between would not say it again.
        intents=(*guards, _saying("Reading", f"consumers read to {json.dumps(ends)}", world)),
    )


def _drain(run: Run, plan: Plan, control: Json, world: Observed) -> Progress:
    alive = _alive(plan, world, "consumer")
    bounds = json.loads(control["data"].get("bounds", "[]"))
    told_at = from_micros(max((one["takenAt"] for one in bounds), default=0))
    late = world.at > told_at + timedelta(microseconds=run.spec.timeouts.drain.micros)
    if alive and not late:
        return Progress(requeue_after=BUSY / 2)
    finished = control_map(
        plan,
        "finished",
        end_offsets=json.loads(control["data"].get("endOffsets", "{}")),
        bounds=bounds,
        resource_version=_version(control),
    )
    if not alive:
        said = journal.say(
            ConditionType.DRAINED,
            ConditionStatus.TRUE,
            "EndReached",
            "every group has read and committed to the settled end of its topics",
            at=world.at,
        )
        return Progress(requeue_after=BUSY / 2, intents=(said,), apply=(finished,))
    told = f"not at the end after {run.spec.timeouts.drain}: {', '.join(alive)}"
    return Progress(
        requeue_after=BUSY,
        apply=(finished,),
        # Told by SIGTERM, which they write their ledgers on.
        delete=tuple(Deletion("Pod", pod, world.pods[pod]["metadata"]["uid"]) for pod in alive),
        intents=(
            journal.guard("NotDrained", GuardKind.EVIDENCE, told, world.at),
            journal.say(
                ConditionType.DRAINED, ConditionStatus.FALSE, "NotInTime", told, at=world.at
            ),
        ),
        events=(Happening("NotDrained", told, warning=True),),
    )


def _close(run: Run, plan: Plan, world: Observed) -> Progress:
    recorder = world.pods.get(names.recorder_pod(plan.name))
    drained = find_condition(run.status.conditions, ConditionType.DRAINED)
    since = world.at if drained is None else drained.last_transition_time
    patience = timedelta(seconds=RECORDER_PATIENCE)
    if recorder is not None and not looking.over(recorder) and world.at < since + patience:
        return Progress(requeue_after=BUSY / 2)
    return Progress(requeue_after=0, next_phase=Phase.SCORING)


def _alive(plan: Plan, world: Observed, role: str) -> list[str]:
    return [
        one.pod
        for one in traffic_pods(plan)
        if one.role == role and one.pod in world.pods and not looking.over(world.pods[one.pod])
    ]


def _late(run: Run, world: Observed) -> bool:
    start = journal.started(run.status, Phase.DRAINING) or world.at
    return world.at > start + timedelta(microseconds=run.spec.timeouts.drain.micros)


def _version(control: Json) -> str:
    return str(control["metadata"].get("resourceVersion", ""))


def _saying(reason: str, told: str, world: Observed) -> Change:
    return journal.say(ConditionType.DRAINED, ConditionStatus.UNKNOWN, reason, told, at=world.at)


def _saying_only(reason: str, told: str, world: Observed) -> Progress:
    return Progress(requeue_after=CALM, changes=(_saying(reason, told, world),))
