"""Warmup: traffic starts; faults wait until records have flowed promptly for a while."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_contract.control import ControlState
from krt_operator import names
from krt_operator.api.conditions import find_condition
from krt_operator.api.status import ConditionStatus, ConditionType, Phase
from krt_operator.build.shared import build_control_map, with_state
from krt_operator.build.traffic import traffic_pods
from krt_operator.constants import BUSY
from krt_operator.engine import journal
from krt_operator.engine.progress import Event, Progress
from krt_operator.errors import TransientError, UserError
from krt_operator.health import pod_state
from krt_operator.health.traffic import control_state
from krt_operator.health.traffic_flow import (
    SLOW,
    flows,
    measure_flow,
    prompt_within,
    shortest_gap,
    slow,
)
from krt_operator.health.traffic_restarts import check_client
from krt_operator.phases.keepalive import POD_LOST
from krt_operator.phases.provisioning import image_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Observed, Run
    from krt_operator.engine.views import Json
    from krt_operator.health.traffic_flow import Flow

SHARE: Final = 0.5
"""Share of the requested rate that must be reached at the end of the warm-up. Half of it tells a
producer that writes from one that does not, even on a busy laptop."""


def step(run: Run, observed: Observed, ports: Ports) -> Progress:
    """Let producers and consumers begin, then check whether records flow.

    Raises:
        UserError: they did not in time, or a client cannot start.
    """
    plan = run.plan
    if plan is None:
        raise TransientError("the ConfigMap of the plan does not exist yet")
    if control_state(observed, plan) is ControlState.WAIT:
        return Progress(requeue_after=0, apply=(_begin(plan, observed),))
    pod_state.check_images(observed.pod_views(), observed.at, image_fields(plan))
    for client in traffic_pods(plan):
        pod = observed.pod(client.pod)
        if pod is not None:
            check_client(client, pod)
    return _check_flow(run, plan, observed, ports)


def _begin(plan: Plan, observed: Observed) -> Json:
    """The control ConfigMap that lets producers and consumers begin."""
    control = observed.config_maps.get(names.control(plan.name))
    if control is None:
        return build_control_map(plan, ControlState.PRODUCE)
    return with_state(control, ControlState.PRODUCE)


def _check_flow(run: Run, plan: Plan, observed: Observed, ports: Ports) -> Progress:
    found = find_condition(run.status.conditions, ConditionType.TRAFFIC_ESTABLISHED)
    since = None
    if found is not None and found.status is ConditionStatus.TRUE:
        since = found.last_transition_time
    idle = [client.pod for client in traffic_pods(plan) if not _running(observed, client.pod)]
    if idle:
        return _wait(run, observed, _waiting_for(idle, run, observed), since)
    try:
        flow = measure_flow(plan, ports)
    except TransientError as error:
        return _wait(run, observed, f"waiting for Kafka to answer: {error}", since)
    silent = [f"topic {topic}" for topic, count in flow.written.items() if not count]
    silent += [f"group {group}" for group, count in flow.committed.items() if not count]
    if silent:
        return _wait(run, observed, f"no records yet: {', '.join(silent)}", since)
    if flow.late and observed.at <= _start(run, observed) + run.spec.timeouts.warmup.delta:
        return _slow(run, observed, flow)
    if since is None:
        return _established(observed, flow)
    return _warmed_up(run, plan, observed, since, flow)


def _waiting_for(idle: Sequence[str], run: Run, observed: Observed) -> str:
    """Which pods do not run, why, and how those that ran before have ended."""
    obstacles = pod_state.obstacles(observed.pod_views())
    lost = [each.message for each in run.status.inconclusive_reasons if each.code == POD_LOST]
    return "; ".join([f"waiting for {', '.join(idle)}", *lost, *obstacles])


def _slow(run: Run, observed: Observed, flow: Flow) -> Progress:
    gap, where = shortest_gap(run.spec)
    millis = prompt_within(run.spec) // timedelta(milliseconds=1)
    message = (
        f"writes are slow: {', '.join(flow.late)} without a record of the last {millis} ms, so a "
        f"gap of {gap} ({where}) might not be noticed; the warm-up of {run.spec.warmup} begins "
        f"when writes are faster, or {run.spec.timeouts.warmup} (spec.timeouts.warmup) after "
        "traffic began"
    )
    condition = journal.set_condition(
        ConditionType.TRAFFIC_ESTABLISHED, ConditionStatus.FALSE, SLOW, message, at=observed.at
    )
    events = () if slow(run.status) else (Event(SLOW, message, warning=True),)
    return Progress(requeue_after=BUSY, changes=(condition,), events=events)


def _established(observed: Observed, flow: Flow) -> Progress:
    message = f"every topic is written, every group commits: {flow}"
    condition = journal.set_condition(
        ConditionType.TRAFFIC_ESTABLISHED,
        ConditionStatus.TRUE,
        "TrafficFlowing",
        message,
        at=observed.at,
    )
    return Progress(
        requeue_after=BUSY, changes=(condition,), events=(Event("TrafficEstablished", message),)
    )


def _warmed_up(run: Run, plan: Plan, observed: Observed, since: datetime, flow: Flow) -> Progress:
    left = (since + run.spec.warmup.delta - observed.at).total_seconds()
    if left > 0:
        return Progress(requeue_after=min(left, BUSY))
    short = _short(plan, run, flow.written)
    if short:
        return _wait(run, observed, short, since)
    event = Event("WarmedUp", f"warm-up of {run.spec.warmup} is over: {flow}")
    return Progress(requeue_after=0, next_phase=Phase.INJECTING, events=(event,))


def _short(plan: Plan, run: Run, written: Mapping[str, int]) -> str:
    for topic, count in written.items():
        rate = sum(
            producer.records_per_second * producer.replicas
            for producer in plan.spec.traffic.producers
            if producer.topic == topic
        )
        due = int(rate * run.spec.warmup.seconds * SHARE)
        if count < due:
            return f"topic {topic} has {count} records, {due} are expected at {rate}/s"
    return ""


def _wait(run: Run, observed: Observed, message: str, since: datetime | None) -> Progress:
    start = since or _start(run, observed)
    if observed.at > start + run.spec.timeouts.warmup.delta + run.spec.warmup.delta:
        raise UserError(
            "TrafficNotEstablished",
            "spec.traffic",
            f"after {run.spec.timeouts.warmup}: {message}; look at the traffic pods' logs, lower "
            "recordsPerSecond, or allow more time in spec.timeouts.warmup",
        )
    if flows(run.status):
        return Progress(requeue_after=BUSY)
    condition = journal.set_condition(
        ConditionType.TRAFFIC_ESTABLISHED,
        ConditionStatus.UNKNOWN,
        "Starting",
        message,
        at=observed.at,
    )
    return Progress(requeue_after=BUSY, changes=(condition,))


def _running(observed: Observed, name: str) -> bool:
    pod = observed.pod(name)
    return pod is not None and pod.running


def _start(run: Run, observed: Observed) -> datetime:
    return journal.started(run.status, Phase.WARMUP) or observed.at
