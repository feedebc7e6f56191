"""Draining: producers stop, the log becomes stable, consumers read to its end, the recorder closes.

The control ConfigMap, which traffic and recorder watch, holds the progress: Produce, StopProducing,
Drain, Done. Each pass moves it on by one state at most, guarded by its resourceVersion. Where
consumers write an output there is one more state, DrainTransforms: the topics that those consumers
read become stable first, they read them to the end and stop; then everything becomes stable.

The scoring Job starts here: the measured part of the run is over, and what a driver and its
executors take to start would otherwise be waited for.
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
from krt_operator.build.scoring import build_scoring_job
from krt_operator.build.shared import build_control_map, with_state
from krt_operator.constants import BUSY, CALM, RECORDER_PATIENCE
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, Event, Progress
from krt_operator.errors import TransientError
from krt_operator.health.begin_offsets import from_begin
from krt_operator.health.log_stability import (
    as_json,
    end_offsets,
    instability,
    unstable_partitions,
)
from krt_operator.health.traffic import (
    alive,
    behind,
    control_state,
    end_offsets_at,
    producer,
    reader,
    reading,
    transformer,
)
from krt_operator.phases.keepalive import NOT_DRAINED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.api.status import Status
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed, Run
    from krt_operator.engine.views import Json


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """Move the control on by at most one state."""
    plan = run.plan
    control = observed.config_maps.get(names.control(run.name))
    if plan is None or control is None:
        raise TransientError("the ConfigMap of the plan or of the control does not exist yet")
    match control_state(observed, plan):
        case ControlState.PRODUCE:
            return _stop_producing(plan, control, observed, ports)
        case ControlState.STOP_PRODUCING:
            return _after_producers(run, plan, control, observed, ports)
        case ControlState.DRAIN_TRANSFORMS:
            return _after_transformers(run, plan, control, observed, ports)
        case ControlState.DRAIN:
            return _after_readers(run, plan, control, observed)
        case _:
            return _close(run, plan, observed)


def _stop_producing(plan: Plan, control: Json, observed: Observed, ports: Ports) -> Progress:
    message = "the producers stop"
    return Progress(
        requeue_after=BUSY,
        apply=(
            with_state(control, ControlState.STOP_PRODUCING),
            build_scoring_job(plan, 1, ports.settings.image_pull_policy),
        ),
        intents=(journal.put(scoring_attempt=1),),
        changes=(_draining("Stopping", message, observed),),
        events=(Event("Draining", message),),
    )


def _after_producers(
    run: Run, plan: Plan, control: Json, observed: Observed, ports: Ports
) -> Progress:
    late = _late(run, observed)
    if alive(plan, observed, producer) and not late:
        return Progress(requeue_after=BUSY / 2)
    outputs = {entry.output.topic for entry in plan.spec.traffic.consumers if entry.output}
    return _stabilise(
        _Stabilisation(
            plan,
            control,
            observed,
            ControlState.STOP_PRODUCING,
            ControlState.DRAIN_TRANSFORMS if outputs else ControlState.DRAIN,
            # Outputs still grow, in transactions that are open.
            tuple(topic.name for topic in plan.topics if topic.name not in outputs),
            late,
        ),
        ports,
    )


def _after_transformers(
    run: Run, plan: Plan, control: Json, observed: Observed, ports: Ports
) -> Progress:
    given_up = journal.has_inconclusive_reason(run.status, NOT_DRAINED)
    left = (alive if given_up else reading)(plan, observed, transformer)
    if left and not _late(run, observed, 2):
        return Progress(requeue_after=BUSY / 2)
    short = sorted({*left, *behind(plan, observed, transformer)})
    if short and not given_up:
        message = f"consumers did not read their input to its end in time: {', '.join(short)}"
        return Progress(
            requeue_after=BUSY,
            delete=_deletions(left, observed),
            intents=(_not_drained(message, observed),),
            events=(Event(NOT_DRAINED, message, warning=True),),
        )
    topics = tuple(topic.name for topic in plan.topics)
    return _stabilise(
        _Stabilisation(
            plan,
            control,
            observed,
            ControlState.DRAIN_TRANSFORMS,
            ControlState.DRAIN,
            topics,
            _late(run, observed, 3),
        ),
        ports,
    )


@dataclass(frozen=True)
class _Stabilisation:
    """The topics that are to become stable, in which state of the control, and the next state."""

    plan: Plan
    control: Json
    observed: Observed
    state: ControlState
    following: ControlState
    topics: tuple[str, ...]
    late: bool


def _stabilise(step: _Stabilisation, ports: Ports) -> Progress:
    plan, observed, data = step.plan, step.observed, step.control["data"]
    before = json.loads(data.get(BOUNDS_KEY, "[]"))
    silence = ""
    try:
        with ports.connect(plan, plan.bootstrap) as kafka:
            bounds = [as_json(bound) for bound in from_begin(plan, kafka.bounds(step.topics))]
    except TransientError as error:
        if not step.late:
            condition = _draining("Settling", f"waiting for Kafka to answer: {error}", observed)
            return Progress(requeue_after=CALM, changes=(condition,))
        bounds, silence = before, f"Kafka did not answer: {error}"
    unstable = silence or instability(plan, step.topics, before, bounds)
    version = _version(step.control)
    if unstable and not step.late:
        ends = json.loads(data[END_OFFSETS_KEY]) if END_OFFSETS_KEY in data else None
        current = build_control_map(
            plan, step.state, end_offsets=ends, bounds=bounds, resource_version=version
        )
        return Progress(
            requeue_after=BUSY,
            apply=(current,),
            changes=(_draining("Settling", f"the log is not stable: {unstable}", observed),),
        )
    moving = unstable_partitions(plan, before, bounds)
    for bound in bounds:
        bound["settled"] = (bound["topic"], bound["partition"]) not in moving
    reasons: tuple[Change, ...] = ()
    if unstable:
        message = f"the log ends did not become stable in time: {unstable}"
        reasons = (
            journal.add_inconclusive_reason(
                "LogNotStable", InconclusiveReasonKind.EVIDENCE, message, observed.at
            ),
        )
    ends = end_offsets(bounds)
    following = build_control_map(
        plan,
        step.following,
        end_offsets=ends,
        bounds=bounds,
        end_offsets_at=observed.at,
        resource_version=version,
    )
    transforms = step.following == ControlState.DRAIN_TRANSFORMS
    consumers = "consumers with an output" if transforms else "consumers"
    return Progress(
        requeue_after=BUSY,
        apply=(following,),
        # Written before the control moves on: after that no pass comes here again.
        intents=(
            *reasons,
            _draining("Reading", f"{consumers} read to {json.dumps(ends)}", observed),
        ),
    )


def _after_readers(run: Run, plan: Plan, control: Json, observed: Observed) -> Progress:
    left = reading(plan, observed, reader)
    if left and observed.at <= end_offsets_at(control) + run.spec.timeouts.drain.delta:
        return Progress(requeue_after=BUSY / 2)
    done = with_state(control, ControlState.DONE)
    short = sorted({*left, *behind(plan, observed, reader)})
    if not short:
        drained = _drained(run.status, observed.at)
        return Progress(requeue_after=BUSY / 2, intents=(drained,), apply=(done,))
    message = f"consumers not at the end after {run.spec.timeouts.drain}: {', '.join(short)}"
    return Progress(
        requeue_after=BUSY,
        apply=(done,),
        # SIGTERM makes them write their ledgers.
        delete=_deletions(alive(plan, observed, reader), observed),
        intents=(_not_drained(message, observed), _timed_out(message, observed.at)),
        events=(Event(NOT_DRAINED, message, warning=True),),
    )


def _deletions(pods: Iterable[str], observed: Observed) -> tuple[Deletion, ...]:
    found = (observed.pod(name) for name in pods)
    return tuple(Deletion("Pod", pod.name, pod.uid) for pod in found if pod is not None)


def _not_drained(message: str, observed: Observed) -> Change:
    return journal.add_inconclusive_reason(
        NOT_DRAINED, InconclusiveReasonKind.EVIDENCE, message, observed.at
    )


def _drained(status: Status, at: datetime) -> Change:
    """The condition once no reader is short of the end; False where a consumer was given up."""
    given_up = [
        reason.message for reason in status.inconclusive_reasons if reason.code == NOT_DRAINED
    ]
    if given_up:
        return _timed_out(given_up[0], at)
    message = "every group has read and committed to the stable end of its topics"
    return journal.set_condition(
        ConditionType.DRAINED, ConditionStatus.TRUE, "ConsumersCaughtUp", message, at=at
    )


def _timed_out(message: str, at: datetime) -> Change:
    return journal.set_condition(
        ConditionType.DRAINED, ConditionStatus.FALSE, "DrainTimedOut", message, at=at
    )


def _close(run: Run, plan: Plan, observed: Observed) -> Progress:
    recorder = observed.pod(names.recorder_pod(plan.name))
    drained = find_condition(run.status.conditions, ConditionType.DRAINED)
    since = observed.at if drained is None else drained.last_transition_time
    patience = timedelta(seconds=RECORDER_PATIENCE)
    # Consumers that were given up write their ledgers to the last row, too.
    writing = alive(plan, observed, reader) or (recorder is not None and not recorder.ended)
    if writing and observed.at < since + patience:
        return Progress(requeue_after=BUSY / 2)
    dumps = run.spec.evidence.compare_replicas
    return Progress(requeue_after=0, next_phase=Phase.DUMPING_REPLICAS if dumps else Phase.SCORING)


def _late(run: Run, observed: Observed, times: int = 1) -> bool:
    start = journal.started(run.status, Phase.DRAINING) or observed.at
    return observed.at > start + times * run.spec.timeouts.drain.delta


def _version(control: Json) -> str:
    return str(control["metadata"].get("resourceVersion", ""))


def _draining(reason: str, message: str, observed: Observed) -> Change:
    return journal.set_condition(
        ConditionType.DRAINED, ConditionStatus.UNKNOWN, reason, message, at=observed.at
    )
