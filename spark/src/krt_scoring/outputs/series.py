"""The series: a run second by second, as ``series.json`` holds it beside the scorecard.

The same evidence gives the same bytes wherever and however it is scored.
``docs/reference/series.md`` describes every key.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_contract import SCHEMA_VERSION
from krt_contract.outcomes import SendOutcome
from krt_contract.timeline import SOURCES, EventName, Source
from krt_scoring.metrics.live_leaders import without_live_leader
from krt_scoring.metrics.rebalances import rebalances
from krt_scoring.metrics.recovery import isr_changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_contract.plan import Plan
    from krt_contract.timeline import Event
    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.metrics.partition_states import States
    from krt_scoring.metrics.seconds import Moment, Seconds
    from krt_scoring.outputs.scorecard import Evaluated
    from krt_scoring.verdict.guards.registry import GuardInputs

LATENCY_COLUMNS = ("count", "p50", "p99", "max")

EVENTS: Mapping[str, tuple[EventName, ...]] = {
    **{source: SOURCES[source] for source in (Source.BROKER, Source.CONTROLLER, Source.ZOOKEEPER)},
    Source.MEMBER: (
        EventName.STARTED,
        EventName.KILLED,
        EventName.EXITED,
        EventName.FROZEN,
        EventName.THAWED,
    ),
}
"""Source → the events of the timeline that the series repeats: sessions, controller, processes."""


def build(given: GuardInputs, evaluated: Evaluated) -> dict[str, Any] | None:
    """Return the series of a run; None where nothing was measured.

    Args:
        given: what was recorded and measured.
        evaluated: the states of the tested partitions, and when the run ended.
    """
    recording, seconds = given.recording, given.measures.seconds
    if seconds is None:
        return None
    run, timeline = recording.run, recording.timeline
    groups = sorted({consumer.group for consumer in run.consumers})
    return {
        "schemaVersion": SCHEMA_VERSION,
        "run": {"namespace": run.namespace, "name": run.name, "uid": run.uid},
        "start": seconds.start,
        "step": seconds.step,
        "count": seconds.count,
        "sends": list(_sends(seconds, run)),
        "latency": _latency(seconds),
        "lag": [{"group": name, "records": list(found)} for name, found in seconds.lag.items()],
        "underReplicated": _columns(("at", "partitions"), isr_changes(timeline, run)),
        "partitions": _partitions(evaluated.states, timeline, evaluated.end),
        "rebalances": [
            {
                "group": item.group,
                "from": item.begin,
                "to": item.end,
                "partitions": item.partitions,
                "members": item.members,
            }
            for item in rebalances(given.ownerships, groups)
        ],
        "events": _columns(
            ("at", "source", "event", "subject"), [_event(item) for item in _events(timeline)]
        ),
        "phases": _columns(
            ("at", "phase"),
            [(item.at, item.subject) for item in timeline.of(Source.PHASE, EventName.ENTERED)],
        ),
        "faults": [
            {"name": window.name, "action": window.action, **window.times}
            for window in recording.faults
            if window.injected
        ],
    }


def dump(series: Mapping[str, Any]) -> str:
    """Return the text of ``series.json``: sorted keys, no spaces, one newline at the end."""
    return json.dumps(series, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def _sends(seconds: Seconds, run: Plan) -> Iterator[dict[str, Any]]:
    """Yield the sends of each writer of the plan and, behind them, of identities it has not."""
    entries: dict[tuple[str, str], dict[str, list[int]]] = {}
    for writer in run.writers:
        entries.setdefault((writer.name, writer.topic), {})
    for (identity, outcome), found in seconds.sends.items():
        owner = run.writer(identity)
        key = (identity, "") if owner is None else (owner.name, owner.topic)
        counts = entries.setdefault(key, {}).setdefault(outcome, [0] * seconds.count)
        for step, number in found.items():
            counts[step] += number
    for (producer, topic), outcomes in entries.items():
        columns = {name.value: outcomes.get(name, [0] * seconds.count) for name in SendOutcome}
        yield {"producer": producer, "topic": topic, **columns}


def _latency(seconds: Seconds) -> dict[str, Any]:
    found: dict[str, Any] = {"endToEnd": []}
    for group, moments in seconds.latencies.items():
        columns = _moments(moments, seconds.count)
        if group:
            found["endToEnd"].append({"group": group, **columns})
        else:
            found["write"] = columns
    return found


def _moments(moments: Mapping[int, Moment], count: int) -> dict[str, list[int | None]]:
    """Return columns of latencies; null in a step in which nothing was due."""
    columns: dict[str, list[int | None]] = {name: [] for name in LATENCY_COLUMNS}
    for step in range(count):
        item = moments.get(step)
        values = (0, None, None, None)
        if item is not None:
            values = (item.count, item.p50, item.p99, item.largest)  # type: ignore[assignment]
        for name, value in zip(LATENCY_COLUMNS, values, strict=True):
            columns[name].append(value)
    return columns


def _partitions(states: States, timeline: Timeline, end: int) -> list[dict[str, Any]]:
    """Return leader and ISR of each tested partition, one entry a change."""
    without = without_live_leader(states, timeline, 0, end)
    return [
        {
            "topic": topic,
            "partition": partition,
            "replicas": list(states.replicas_at((topic, partition), end)),
            **_columns(
                ("at", "leader", "isr"),
                [(state.at, state.leader, list(state.isr)) for state in known],
            ),
            "withoutLiveLeader": [list(spell) for spell in without.get((topic, partition), ())],
        }
        for (topic, partition), known in states.known.items()
    ]


def _events(timeline: Timeline) -> list[Event]:
    return [item for item in timeline.events if item.event in EVENTS.get(item.source, ())]


def _event(item: Event) -> tuple[int, str, str, str]:
    subject = str(item.detail.get("member") or item.subject)
    return item.at, item.source, item.event, subject


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}
