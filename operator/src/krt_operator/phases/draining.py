"""Draining: producers stop, the log settles, consumers read to its end, the recorder closes.

How far it is lies in the control ConfigMap that traffic and recorder watch: running, stopping,
draining, finished. Each pass moves it one state on, guarded by its resourceVersion. Where
consumers write what they make of their input, there is one state more: transforming. The topics
they read settle first, they read them to the end and stop; then everything settles.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from krt_contract.control import BOUNDS_KEY, END_OFFSETS_KEY, ControlState
from krt_operator import names
from krt_operator.api.conditions import find_condition
from krt_operator.api.status import (
    ConditionStatus,
    ConditionType,
    InconclusiveReasonKind,
    Phase,
)
from krt_operator.api.times import from_micros
from krt_operator.build.shared import build_control_map
from krt_operator.constants import BUSY, CALM, RECORDER_PATIENCE
from krt_operator.engine import journal
from krt_operator.engine.ports import Deletion, Happening, Progress
from krt_operator.errors import TransientError
from krt_operator.health import pod_state
from krt_operator.health.log_stability import as_json, end_offsets, settled
from krt_operator.health.traffic import (
    alive,
    behind,
    producer,
    reader,
    reading,
    transformer,
)
from krt_operator.phases.keepalive import NOT_DRAINED, control_state

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.api.status import Status
    from krt_operator.engine.ports import (
        Change,
        Json,
        Observed,
        Ports,
        Run,
    )
    from krt_operator.plan.plan import Plan


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """Move the control on by at most one state."""
    plan = run.plan
    control = world.config_maps.get(names.control(run.name))
    if plan is None or control is None:
        raise TransientError("plan or control are not there (yet)")
    match control_state(world, plan):
        case ControlState.PRODUCE:
            told = "the producers are told to stop"
            return Progress(
                requeue_after=BUSY,
                apply=(
                    build_control_map(
                        plan, ControlState.STOP_PRODUCING, resource_version=_version(control)
                    ),
                ),
                changes=(_saying("Stopping", told, world),),
                events=(Happening("Draining", told),),
            )
        case ControlState.STOP_PRODUCING:
            return _stop(run, plan, control, world, ports)
        case ControlState.DRAIN_TRANSFORMS:
            return _transform(run, plan, control, world, ports)
        case ControlState.DRAIN:
            return _drain(run, plan, control, world)
        case _:
            return _close(run, plan, world)


def _stop(run: Run, plan: Plan, control: Json, world: Observed, ports: Ports) -> Progress:
    late = _late(run, world)
    if alive(plan, world, producer) and not late:
        return Progress(requeue_after=BUSY / 2)
    made = {one.output.topic for one in plan.spec.traffic.consumers if one.output}
    return _settle(
        _Settling(
            plan,
            control,
            world,
            ControlState.STOP_PRODUCING,
            ControlState.DRAIN_TRANSFORMS if made else ControlState.DRAIN,
            # What is made of the others still grows, in transactions that are open.
            tuple(one.name for one in plan.topics if one.name not in made),
            late,
        ),
        ports,
    )


def _transform(run: Run, plan: Plan, control: Json, world: Observed, ports: Ports) -> Progress:
    given_up = journal.has_inconclusive_reason(run.status, NOT_DRAINED)
    left = (alive if given_up else reading)(plan, world, transformer)
    if left and not _late(run, world, 2):
        return Progress(requeue_after=BUSY / 2)
    short = sorted({*left, *behind(plan, world, transformer)})
    if short and not given_up:
        there = [pod for pod in left if pod in world.pods]
        told = f"input not transformed to its end in time: {', '.join(short)}"
        return Progress(
            requeue_after=BUSY,
            delete=tuple(Deletion("Pod", pod, world.pods[pod]["metadata"]["uid"]) for pod in there),
            intents=(
                journal.add_inconclusive_reason(
                    NOT_DRAINED, InconclusiveReasonKind.EVIDENCE, told, world.at
                ),
            ),
            events=(Happening(NOT_DRAINED, told, warning=True),),
        )
    topics = tuple(one.name for one in plan.topics)
    late = _late(run, world, 3)
    return _settle(
        _Settling(
            plan, control, world, ControlState.DRAIN_TRANSFORMS, ControlState.DRAIN, topics, late
        ),
        ports,
    )


@dataclass(frozen=True)
class _Settling:
    """What is to settle, in which state of the control, and which one follows."""

    plan: Plan
    control: Json
    world: Observed
    state: ControlState
    following: ControlState
    topics: tuple[str, ...]
    late: bool


def _settle(this: _Settling, ports: Ports) -> Progress:
    plan, world, data = this.plan, this.world, this.control["data"]
    before = json.loads(data.get(BOUNDS_KEY, "[]"))
    try:
        with ports.kafka(plan.bootstrap) as kafka:
            bounds = [as_json(one) for one in kafka.bounds(list(this.topics))]
    except TransientError as error:
        if not this.late:
            return _saying_only("Settling", f"waiting for Kafka to answer: {error}", world)
        bounds = before
    why = settled(plan, this.topics, before, bounds)
    version = _version(this.control)
    if why and not this.late:
        ends = json.loads(data[END_OFFSETS_KEY]) if END_OFFSETS_KEY in data else None
        first = build_control_map(
            plan, this.state, end_offsets=ends, bounds=bounds, resource_version=version
        )
        return Progress(
            requeue_after=BUSY,
            apply=(first,),
            changes=(_saying("Settling", f"the log is not settled: {why}", world),),
        )
    for one in bounds:
        one["settled"] = not why
    guards: tuple[Change, ...] = ()
    if why:
        told = f"the ends of the log did not settle in time: {why}"
        guards = (
            journal.add_inconclusive_reason(
                "LogNotStable", InconclusiveReasonKind.EVIDENCE, told, world.at
            ),
        )
    ends = end_offsets(bounds)
    following = build_control_map(
        plan, this.following, end_offsets=ends, bounds=bounds, resource_version=version
    )
    who = (
        "consumers with an output read"
        if this.following == ControlState.DRAIN_TRANSFORMS
        else "consumers read"
    )
    return Progress(
        requeue_after=BUSY,
        apply=(following,),
        # Before the control moves on: a controller killed in between would not say it again.
        intents=(*guards, _saying("Reading", f"{who} to {json.dumps(ends)}", world)),
    )


def _drain(run: Run, plan: Plan, control: Json, world: Observed) -> Progress:
    left = reading(plan, world, reader)
    bounds = json.loads(control["data"].get(BOUNDS_KEY, "[]"))
    told_at = from_micros(max((one["takenAt"] for one in bounds), default=0))
    late = world.at > told_at + run.spec.timeouts.drain.delta
    if left and not late:
        return Progress(requeue_after=BUSY / 2)
    finished = build_control_map(
        plan,
        ControlState.DONE,
        end_offsets=json.loads(control["data"].get(END_OFFSETS_KEY, "{}")),
        bounds=bounds,
        resource_version=_version(control),
    )
    short = sorted({*left, *behind(plan, world, reader)})
    if not short:
        said = _drained(run.status, world.at)
        return Progress(requeue_after=BUSY / 2, intents=(said,), apply=(finished,))
    told = f"not at the end after {run.spec.timeouts.drain}: {', '.join(short)}"
    at_work = alive(plan, world, reader)
    return Progress(
        requeue_after=BUSY,
        apply=(finished,),
        # Told by SIGTERM, which they write their ledgers on.
        delete=tuple(Deletion("Pod", pod, world.pods[pod]["metadata"]["uid"]) for pod in at_work),
        intents=(
            journal.add_inconclusive_reason(
                NOT_DRAINED, InconclusiveReasonKind.EVIDENCE, told, world.at
            ),
            _not_in_time(told, world.at),
        ),
        events=(Happening(NOT_DRAINED, told, warning=True),),
    )


def _drained(status: Status, at: datetime) -> Change:
    """The condition once nobody is short of the end, unless somebody was given up before."""
    given_up = [one.message for one in status.inconclusive_reasons if one.code == NOT_DRAINED]
    if given_up:
        return _not_in_time(given_up[0], at)
    told = "every group has read and committed to the settled end of its topics"
    return journal.say(
        ConditionType.DRAINED, ConditionStatus.TRUE, "ConsumersCaughtUp", told, at=at
    )


def _not_in_time(told: str, at: datetime) -> Change:
    return journal.say(ConditionType.DRAINED, ConditionStatus.FALSE, "DrainTimedOut", told, at=at)


def _close(run: Run, plan: Plan, world: Observed) -> Progress:
    recorder = world.pods.get(names.recorder_pod(plan.name))
    drained = find_condition(run.status.conditions, ConditionType.DRAINED)
    since = world.at if drained is None else drained.last_transition_time
    patience = timedelta(seconds=RECORDER_PATIENCE)
    # Those who were given up write their ledgers to the last row, too.
    writing = alive(plan, world, reader) or (recorder is not None and not pod_state.over(recorder))
    if writing and world.at < since + patience:
        return Progress(requeue_after=BUSY / 2)
    compared = run.spec.evidence.compare_replicas
    return Progress(
        requeue_after=0, next_phase=Phase.DUMPING_REPLICAS if compared else Phase.SCORING
    )


def _late(run: Run, world: Observed, times: int = 1) -> bool:
    start = journal.started(run.status, Phase.DRAINING) or world.at
    return world.at > start + times * run.spec.timeouts.drain.delta


def _version(control: Json) -> str:
    return str(control["metadata"].get("resourceVersion", ""))


def _saying(reason: str, told: str, world: Observed) -> Change:
    return journal.say(ConditionType.DRAINED, ConditionStatus.UNKNOWN, reason, told, at=world.at)


def _saying_only(reason: str, told: str, world: Observed) -> Progress:
    return Progress(requeue_after=CALM, changes=(_saying(reason, told, world),))
