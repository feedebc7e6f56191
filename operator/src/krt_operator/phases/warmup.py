"""Warmup: traffic starts; the first fault waits until it flows and has flowed for a while."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator import journal
from krt_operator.api.conditions import find_condition
from krt_operator.api.status import ConditionStatus, ConditionType, Phase
from krt_operator.build.traffic import traffic_pods
from krt_operator.constants import BUSY, CALM
from krt_operator.errors import TransientError, UserError
from krt_operator.phases import looking
from krt_operator.phases.provisioning import image_fields
from krt_operator.ports import Happening, Progress

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.plan import Plan
    from krt_operator.ports import Observed, Ports, Run

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
    looking.check_images(world.pods.values(), world.at, image_fields(plan))
    found = find_condition(run.status.conditions, ConditionType.TRAFFIC_ESTABLISHED)
    since = None
    if found is not None and found.status is ConditionStatus.TRUE:
        since = found.last_transition_time
    idle = [p.pod for p in traffic_pods(plan) if not looking.running(world.pods.get(p.pod))]
    if idle:
        why = looking.obstacles(world.pods.values())
        return _wait(run, world, "; ".join([f"waiting for {', '.join(idle)}", *why]), since)
    try:
        written, committed = _flow(plan, ports)
    except TransientError as error:
        return _wait(run, world, f"waiting for Kafka to answer: {error}", since)
    silent = [f"topic {topic}" for topic, count in written.items() if not count]
    silent += [f"group {group}" for group, count in committed.items() if not count]
    if silent:
        return _wait(run, world, f"no records yet: {', '.join(silent)}", since)
    told = _in_words(written, committed)
    if since is None:
        return _established(world, f"every topic is written, every group commits: {told}")
    return _warmed_up(run, plan, world, since, written, told)


def _established(world: Observed, told: str) -> Progress:
    said = journal.say(
        ConditionType.TRAFFIC_ESTABLISHED,
        ConditionStatus.TRUE,
        "RecordsFlow",
        told,
        at=world.at,
    )
    return Progress(
        requeue_after=BUSY, changes=(said,), events=(Happening("TrafficEstablished", told),)
    )


def _warmed_up(  # noqa: PLR0913, PLR0917 - what was seen, each named at the one call
    run: Run, plan: Plan, world: Observed, since: datetime, written: dict[str, int], told: str
) -> Progress:
    left = (since + timedelta(microseconds=run.spec.warmup.micros) - world.at).total_seconds()
    if left > 0:
        return Progress(requeue_after=min(left, CALM))
    slow = _slow(plan, run, written)
    if slow:
        return _wait(run, world, slow, since)
    happened = Happening("WarmedUp", f"warm-up of {run.spec.warmup} is over: {told}")
    return Progress(requeue_after=0, next_phase=Phase.INJECTING, events=(happened,))


def _flow(plan: Plan, ports: Ports) -> tuple[dict[str, int], dict[str, int]]:
    """Records written by topic that somebody writes, and positions committed by group."""
    made = {one.output.topic for one in plan.spec.traffic.consumers if one.output}
    topics = sorted({one.topic for one in plan.spec.traffic.producers} | made)
    written = dict.fromkeys(topics, 0)
    with ports.kafka(plan.bootstrap) as kafka:
        for bound in kafka.bounds(topics):
            written[bound.topic] += bound.high_watermark
        groups = {one.group for one in plan.spec.traffic.consumers if set(one.topics) & {*topics}}
        committed = {group: sum(kafka.group(group).committed.values()) for group in sorted(groups)}
    return written, committed


def _slow(plan: Plan, run: Run, written: dict[str, int]) -> str:
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


def _in_words(written: dict[str, int], committed: dict[str, int]) -> str:
    parts = [f"{topic} {count} written" for topic, count in written.items()]
    parts += [f"{group} {count} committed" for group, count in committed.items()]
    return ", ".join(parts)


def _wait(run: Run, world: Observed, told: str, since: datetime | None) -> Progress:
    start = journal.started(run.status, Phase.WARMUP) or world.at
    limit = timedelta(microseconds=run.spec.timeouts.warmup.micros + run.spec.warmup.micros)
    if world.at > start + limit:
        raise UserError(
            "TrafficNotEstablished",
            "spec.traffic",
            f"after {run.spec.timeouts.warmup}: {told}; look at the traffic pods' logs, lower "
            "recordsPerSecond, or allow more time in spec.timeouts.warmup",
        )
    if since is not None:
        return Progress(requeue_after=BUSY)
    condition = journal.say(
        ConditionType.TRAFFIC_ESTABLISHED, ConditionStatus.UNKNOWN, "Starting", told, at=world.at
    )
    return Progress(requeue_after=BUSY, changes=(condition,))
