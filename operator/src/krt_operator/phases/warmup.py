"""Warmup: traffic starts; the first fault waits until it has flowed promptly for a while."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.api.conditions import find_condition
from krt_operator.api.status import ConditionStatus, ConditionType, Phase
from krt_operator.build.traffic import traffic_pods
from krt_operator.constants import BUSY
from krt_operator.engine import journal
from krt_operator.engine.ports import Happening, Progress
from krt_operator.errors import TransientError, UserError
from krt_operator.health import pod_state
from krt_operator.health.traffic_flow import (
    SLOW,
    flows,
    look,
    prompt_within,
    shortest_gap,
    slow,
)
from krt_operator.phases.provisioning import image_fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from krt_operator.engine.ports import Observed, Ports, Run
    from krt_operator.health.traffic_flow import Flow
    from krt_operator.plan.plan import Plan

SHARE: Final = 0.5
"""Part of the asked rate that must have been reached at the end of the warm-up. Half: a busy
laptop may fall behind while a producer that does not write is told from one that does."""


def step(run: Run, world: Observed, ports: Ports) -> Progress:
    """One look at the flow of records.

    Raises:
        UserError: it did not flow in time.
    """
    plan = run.plan
    if plan is None:
        raise TransientError("the plan is not there (yet)")
    pod_state.check_images(world.pods.values(), world.at, image_fields(plan))
    found = find_condition(run.status.conditions, ConditionType.TRAFFIC_ESTABLISHED)
    since = None
    if found is not None and found.status is ConditionStatus.TRUE:
        since = found.last_transition_time
    idle = [p.pod for p in traffic_pods(plan) if not pod_state.running(world.pods.get(p.pod))]
    if idle:
        why = pod_state.obstacles(world.pods.values())
        return _wait(run, world, "; ".join([f"waiting for {', '.join(idle)}", *why]), since)
    try:
        flow = look(plan, ports)
    except TransientError as error:
        return _wait(run, world, f"waiting for Kafka to answer: {error}", since)
    silent = [f"topic {topic}" for topic, count in flow.written.items() if not count]
    silent += [f"group {group}" for group, count in flow.committed.items() if not count]
    if silent:
        return _wait(run, world, f"no records yet: {', '.join(silent)}", since)
    if flow.late and world.at <= _start(run, world) + run.spec.timeouts.warmup.delta:
        return _slowly(run, world, flow)
    if since is None:
        return _established(world, flow)
    return _warmed_up(run, plan, world, since, flow)


def _slowly(run: Run, world: Observed, flow: Flow) -> Progress:
    gap, where = shortest_gap(run.spec)
    millis = prompt_within(run.spec) // timedelta(milliseconds=1)
    told = (
        f"writes take long: {', '.join(flow.late)} without a record of the last {millis} ms, so a "
        f"gap of {gap} ({where}) might not be seen; the warm-up of {run.spec.warmup} begins when "
        f"they are prompt, or {run.spec.timeouts.warmup} (spec.timeouts.warmup) after traffic began"
    )
    condition = journal.say(
        ConditionType.TRAFFIC_ESTABLISHED, ConditionStatus.FALSE, SLOW, told, at=world.at
    )
    events = () if slow(run.status) else (Happening(SLOW, told, warning=True),)
    return Progress(requeue_after=BUSY, changes=(condition,), events=events)


def _established(world: Observed, flow: Flow) -> Progress:
    told = f"every topic is written, every group commits: {flow}"
    said = journal.say(
        ConditionType.TRAFFIC_ESTABLISHED,
        ConditionStatus.TRUE,
        "TrafficFlowing",
        told,
        at=world.at,
    )
    return Progress(
        requeue_after=BUSY, changes=(said,), events=(Happening("TrafficEstablished", told),)
    )


def _warmed_up(run: Run, plan: Plan, world: Observed, since: datetime, flow: Flow) -> Progress:
    left = (since + run.spec.warmup.delta - world.at).total_seconds()
    if left > 0:
        return Progress(requeue_after=min(left, BUSY))
    short = _short(plan, run, flow.written)
    if short:
        return _wait(run, world, short, since)
    happened = Happening("WarmedUp", f"warm-up of {run.spec.warmup} is over: {flow}")
    return Progress(requeue_after=0, next_phase=Phase.INJECTING, events=(happened,))


def _short(plan: Plan, run: Run, written: Mapping[str, int]) -> str:
    for topic, count in written.items():
        rate = sum(
            one.records_per_second * one.replicas
            for one in plan.spec.traffic.producers
            if one.topic == topic
        )
        due = int(rate * run.spec.warmup.seconds * SHARE)
        if count < due:
            return f"topic {topic} holds {count} records, {due} are due at {rate}/s"
    return ""


def _wait(run: Run, world: Observed, told: str, since: datetime | None) -> Progress:
    begun = since or _start(run, world)
    if world.at > begun + run.spec.timeouts.warmup.delta + run.spec.warmup.delta:
        raise UserError(
            "TrafficNotEstablished",
            "spec.traffic",
            f"after {run.spec.timeouts.warmup}: {told}; look at the traffic pods' logs, lower "
            "recordsPerSecond, or allow more time in spec.timeouts.warmup",
        )
    if flows(run.status):
        return Progress(requeue_after=BUSY)
    condition = journal.say(
        ConditionType.TRAFFIC_ESTABLISHED, ConditionStatus.UNKNOWN, "Starting", told, at=world.at
    )
    return Progress(requeue_after=BUSY, changes=(condition,))


def _start(run: Run, world: Observed) -> datetime:
    return journal.started(run.status, Phase.WARMUP) or world.at
