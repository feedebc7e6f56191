"""Evidence that is not whole: damaged files, and what the guards look at.

Each is looked at by the one stage that judges it, without the records: files by the inspection
of a folder that shows them changed, the rest by the guards on changed facts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from krt_contract.faults import Action
from krt_contract.timeline import Event, EventName, Source
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.selftest.difference import Difference, Doubt, doubts
from krt_scoring.selftest.outcome import Outcome
from krt_scoring.verdict import guards

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_scoring.verdict.guards.facts import Facts

GHOST = "selftest-ghost"


@dataclass(frozen=True)
class Doubtful:
    """Facts changed so that a guard must speak, and the reason it must give."""

    facts: Facts
    reason: Doubt


@dataclass(frozen=True)
class Kind:
    """A way to make evidence doubtful; ``attempt`` returns None where the run cannot host it."""

    name: str
    needs: str
    attempt: Callable[[Facts], Doubtful | None]


def _unsettled(facts: Facts) -> Doubtful | None:
    settled = [bound for bound in facts.bounds if bound.settled]
    if not settled or not _tested(facts, settled[0].topic, settled[0].partition):
        return None
    one = settled[0]
    bounds = tuple(replace(item, settled=False) if item is one else item for item in facts.bounds)
    subject = f"{one.topic}-{one.partition}"
    return Doubtful(replace(facts, bounds=bounds), ("evidence", "LogNotStable", subject))


def _unread(facts: Facts) -> Doubtful | None:
    read = [
        bound
        for bound in facts.bounds
        if bound.settled
        and bound.read_from <= bound.log_start
        and bound.read_to >= bound.high_watermark > bound.log_start
    ]
    if not read or not _tested(facts, read[-1].topic, read[-1].partition):
        return None
    one = read[-1]
    short = replace(one, read_to=one.high_watermark - 1)
    bounds = tuple(short if item is one else item for item in facts.bounds)
    subject = f"{one.topic}-{one.partition}"
    return Doubtful(replace(facts, bounds=bounds), ("evidence", "LogNotRead", subject))


def _tested(facts: Facts, topic: str, partition: int) -> bool:
    info = facts.run.topic(topic)
    return info is not None and partition < info.partitions


def _unrecorded(facts: Facts) -> Doubtful | None:
    stopped = list(facts.timeline.of(Source.RECORDER, EventName.STOPPED))
    if not stopped or not any(facts.timeline.of(Source.RECORDER, EventName.STARTED)):
        return None
    left = tuple(event for event in facts.timeline.events if event not in stopped)
    timeline = Timeline(left, facts.timeline.reasons)
    return Doubtful(replace(facts, timeline=timeline), ("coverage", "TimelineGap", "recorder"))


def _gone(facts: Facts) -> Doubtful | None:
    pods = list(facts.timeline.of(Source.POD))
    if not pods:
        return None
    detail = {"uid": GHOST, "component": "producer"}
    event = Event(pods[-1].at, pods[-1].mono, Source.POD, EventName.DELETED, GHOST, detail)
    timeline = Timeline((*facts.timeline.events, event), facts.timeline.reasons)
    return Doubtful(replace(facts, timeline=timeline), ("coverage", "TrafficPodLost", GHOST))


def _mixed(facts: Facts) -> Doubtful | None:
    writers = dict(facts.inspection.incarnations)
    writers["consume"] = writers.get("consume", frozenset()) | {(GHOST, GHOST)}
    inspection = replace(facts.inspection, incarnations=writers)
    subject = f"consume/{GHOST}"
    return Doubtful(replace(facts, inspection=inspection), ("evidence", "MixedRuns", subject))


def _skipped(facts: Facts) -> Doubtful | None:
    spec = facts.run.resolved_spec
    planned = {"name": GHOST, "action": str(Action.CRASH_POD)}
    faults = [*(spec.get("faults") or ()), planned]
    run = replace(facts.run, resolved_spec={**spec, "faults": faults})
    return Doubtful(replace(facts, run=run), ("coverage", "FaultSkipped", GHOST))


KINDS = (
    Kind("unsettled-log", "a partition whose log settled", _unsettled),
    Kind("unread-log", "a partition whose log was read to its settled end", _unread),
    Kind("unrecorded-end", "a recorder that ended in order", _unrecorded),
    Kind("vanished-pod", "a timeline that shows pods", _gone),
    Kind("foreign-ledger", "", _mixed),
    Kind("fault-not-injected", "", _skipped),
)
"""Every way, each with what a run must have to host it."""


def run(facts: Facts) -> tuple[list[Outcome], dict[str, str]]:
    """Return the outcomes, and what those need that could not be tried."""
    before = doubts(guards.check(facts))
    told, inapplicable = [], {}
    for kind in KINDS:
        doubtful = kind.attempt(facts)
        if doubtful is None or doubtful.reason in before:
            inapplicable[kind.name] = kind.needs
            continue
        expected = Difference(reasons=frozenset({doubtful.reason}))
        actual = Difference(reasons=doubts(guards.check(doubtful.facts)) ^ before)
        unexpected = actual - expected
        told.append(Outcome(kind.name, {}, expected, unexpected, not unexpected))
    return told, inapplicable
