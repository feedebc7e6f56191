"""Each guard tested on the run's evidence: its input is damaged, and it must give its reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from krt_contract.faults import Action
from krt_contract.labels import Component
from krt_contract.timeline import Event, EventName, Source
from krt_scoring.inputs import below_begin
from krt_scoring.inputs.evidence import CONSUME
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.selftest.difference import Difference, ReasonIdentity, identities
from krt_scoring.selftest.results import CorruptionResult
from krt_scoring.verdict.guards import registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_scoring.inputs.recording import LogEnd
    from krt_scoring.verdict.guards.registry import GuardInputs

GHOST = "selftest-ghost"


@dataclass(frozen=True)
class DamagedInputs:
    """Inputs changed so that a guard must give a reason, and that reason."""

    given: GuardInputs
    reason: ReasonIdentity


@dataclass(frozen=True)
class Kind:
    """A way to damage the inputs; ``attempt`` returns None where the run cannot host it."""

    name: str
    needs: str
    attempt: Callable[[GuardInputs], DamagedInputs | None]


def _unsettled(given: GuardInputs) -> DamagedInputs | None:
    settled = [end for end in given.recording.log_ends if end.settled]
    if not settled or not _tested(given, settled[0]):
        return None
    return _with_log_end(given, settled[0], replace(settled[0], settled=False), "LogNotStable")


def _unread(given: GuardInputs) -> DamagedInputs | None:
    read = [
        end
        for end in given.recording.log_ends
        if end.settled
        and end.read_from <= end.log_start
        and end.read_to >= end.high_watermark > end.log_start
    ]
    if not read or not _tested(given, read[-1]):
        return None
    short = replace(read[-1], read_to=read[-1].high_watermark - 1)
    return _with_log_end(given, read[-1], short, "LogNotRead")


def _cut(given: GuardInputs) -> DamagedInputs | None:
    recording = given.recording
    for end in recording.log_ends:
        begin = recording.run.begin(end.topic, end.partition)
        if begin:
            short = replace(end, high_watermark=begin - 1)
            changed = _recorded(given, below_begin=below_begin.find({}, (short,), recording.run))
            subject = f"{end.topic}-{end.partition}"
            return DamagedInputs(changed, ("evidence", "LogCutBelowBegin", subject))
    return None


def _tested(given: GuardInputs, end: LogEnd) -> bool:
    info = given.recording.run.topic(end.topic)
    return info is not None and end.partition < info.partitions


def _with_log_end(given: GuardInputs, old: LogEnd, new: LogEnd, code: str) -> DamagedInputs:
    ends = tuple(new if end is old else end for end in given.recording.log_ends)
    subject = f"{old.topic}-{old.partition}"
    return DamagedInputs(_recorded(given, log_ends=ends), ("evidence", code, subject))


def _unrecorded(given: GuardInputs) -> DamagedInputs | None:
    timeline = given.recording.timeline
    stopped = list(timeline.of(Source.RECORDER, EventName.STOPPED))
    if not stopped or not any(timeline.of(Source.RECORDER, EventName.STARTED)):
        return None
    left = tuple(event for event in timeline.events if event not in stopped)
    changed = _recorded(given, timeline=Timeline(left, timeline.reasons))
    return DamagedInputs(changed, ("coverage", "TimelineGap", "recorder"))


def _gone(given: GuardInputs) -> DamagedInputs | None:
    timeline = given.recording.timeline
    pods = list(timeline.of(Source.POD))
    if not pods:
        return None
    detail = {"uid": GHOST, "component": str(Component.PRODUCER)}
    event = Event(pods[-1].at, pods[-1].mono, Source.POD, EventName.DELETED, GHOST, detail)
    changed = _recorded(given, timeline=Timeline((*timeline.events, event), timeline.reasons))
    return DamagedInputs(changed, ("coverage", "TrafficPodLost", GHOST))


def _mixed(given: GuardInputs) -> DamagedInputs | None:
    inspected = given.recording.inspection
    writers = dict(inspected.incarnations)
    writers[CONSUME] = writers.get(CONSUME, frozenset()) | {(GHOST, GHOST)}
    changed = _recorded(given, inspection=replace(inspected, incarnations=writers))
    return DamagedInputs(changed, ("evidence", "MixedRuns", f"{CONSUME}/{GHOST}"))


def _skipped(given: GuardInputs) -> DamagedInputs | None:
    run = given.recording.run
    fault = {"name": GHOST, "action": str(Action.CRASH_POD)}
    spec = run.resolved_spec
    faults = [*(spec.get("faults") or ()), fault]
    changed = _recorded(given, run=replace(run, resolved_spec={**spec, "faults": faults}))
    return DamagedInputs(changed, ("coverage", "FaultSkipped", GHOST))


def _recorded(given: GuardInputs, **changes: Any) -> GuardInputs:
    return replace(given, recording=replace(given.recording, **changes))


KINDS = (
    Kind("unsettled-log", "a partition whose log settled", _unsettled),
    Kind("unread-log", "a partition whose log was read to its settled end", _unread),
    Kind("cut-log", "a topic with records from before the run", _cut),
    Kind("unrecorded-end", "a recorder that ended in order", _unrecorded),
    Kind("vanished-pod", "a timeline that shows pods", _gone),
    Kind("foreign-ledger", "", _mixed),
    Kind("fault-not-injected", "", _skipped),
)
"""Every way, each with what a run must have to host it."""


def run(given: GuardInputs) -> tuple[list[CorruptionResult], dict[str, str]]:
    """Return the results, and what the damages need that could not be tried."""
    before = identities(registry.check_all(given))
    results, inapplicable = [], {}
    for kind in KINDS:
        damaged = kind.attempt(given)
        if damaged is None or damaged.reason in before:
            inapplicable[kind.name] = kind.needs
            continue
        expected = Difference(reasons=frozenset({damaged.reason}))
        actual = Difference(reasons=identities(registry.check_all(damaged.given)) ^ before)
        unexpected = actual - expected
        results.append(CorruptionResult(kind.name, {}, expected, unexpected, not unexpected))
    return results, inapplicable
