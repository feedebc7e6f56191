"""Times at which the recorder did not see what happened.

A silence of ZooKeeper hides nothing by itself: a watch that fires late still delivers the state.
Nor does a second in which the recorder's own process was not scheduled: its connections stay open,
and what they deliver is read afterwards. Either may lose a state that was overwritten meanwhile.
The rules read from the states who led in which epoch, and epochs grow by one
with each leader, so such a gap counts only where an epoch of a tested partition is missing across
it, and only where who led may permit anything there. Kafka's own topics elect cleanly, so no leader
of theirs does. ZooKeeper itself falls silent for a second or two when a broker's session ends on
a busy disk, and the state without a leader, which the controller writes ahead of the next one, goes
by unseen. A watch that broke off, a log that was not read and a recorder that was replaced count
always.

A time in which the evidence store was unavailable hides nothing, but holds up whoever waits for
the ledger: what then becomes late or leaves its group is not to be counted against Kafka.

The metadata log of a KRaft cluster is read on from where it was left, so neither a silence of the
controllers nor a recorder that was replaced hides anything of it.

Of a cluster that is polled, leader epochs tell after a silence, or after a recorder was replaced,
whether there was an election, as they do between any two polls. What is not known of it then is not
known without a silence either.

A silence of ZooKeeper, the controllers or the polled brokers that lasts until the recorder ends is
another matter: nothing was read afterwards, so every state in it is lost. It counts if operations
of the run were still going on.

Whatever falls silent while the cluster is still being made, before the first record was due, hides
nothing that a record could prove or disprove.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krt_contract.labels import Component
from krt_contract.metadata import Strength
from krt_contract.timeline import EVIDENCE, METADATA_LOG, POLLING, ZOOKEEPER, EventName, Source
from krt_scoring import durations
from krt_scoring.inputs import timeline
from krt_scoring.inputs.reasons import Reason
from krt_scoring.metrics.span import span_of
from krt_scoring.verdict.guards import unknown_leaders, unseen_leaders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krt_scoring.inputs.recording import Recording


SILENT = {
    Strength.COMPLETE: ("The controllers", METADATA_LOG),
    Strength.WATCHED: ("ZooKeeper", ZOOKEEPER),
    Strength.OBSERVED: ("The brokers", POLLING),
}
"""Strength of a history → who gave no answer, and the stream of its silences."""


def check(recording: Recording) -> Iterator[Reason]:
    """Yield ``TimelineGap`` for each gap during traffic, and for an end that was not written."""
    # A recorder that is there again reads the metadata log from where it was left; epochs show to
    # one that polls what it missed.
    strength = recording.run.metadata.source.strength
    resumes = strength in {Strength.COMPLETE, Strength.OBSERVED}
    unseen = unseen_leaders.find(recording)
    permitting = [
        item for item in unseen if unknown_leaders.permitting(recording, item.topic) is not None
    ]
    first, _ = recording.inspection.sends
    unavailable: list[tuple[int, int]] = []
    for stream, start, end in sorted(recording.timeline.silences()):
        if end < first:
            continue
        if resumes and stream in {*timeline.LATE, Component.RECORDER}:
            continue
        if stream in timeline.LATE and not any(
            item.end is not None and item.start <= end and start <= item.end for item in permitting
        ):
            continue
        if stream == EVIDENCE:
            unavailable.append((start, end))
            continue
        message = (
            f"nothing was recorded for {durations.show(end - start)} from {start} (µs since 1970), "
            "so an event that the rules need may be missing. "
        )
        failure = _failure(recording) if stream == Component.RECORDER else ""
        message += failure or "Run the test again"
        yield Reason("coverage", "TimelineGap", stream or "recorder", message)
    for start, end in _united(unavailable):
        yield Reason("coverage", "TimelineGap", EVIDENCE, _unavailable(start, end))
    if not timeline.stopped_in_order(recording.timeline.events):
        message = (
            "the recorder did not stop in order, so the end of the timeline may be missing. See "
            "the recorder's log and run the test again"
        )
        yield Reason("coverage", "TimelineGap", "recorder", message)
    elif _unobserved_end(recording):
        partitions = unseen_leaders.names(unseen)
        who, stream = SILENT[strength]
        message = (
            f"{who} gave no answer until the recorder ended, so the last leaders and ISRs of "
            f"{partitions} may be missing. See their logs in the evidence and run the test again"
        )
        yield Reason("coverage", "TimelineGap", stream, message)


def _united(times: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return times in order of their starts, those that overlap as one: each pod has its own."""
    found: list[tuple[int, int]] = []
    for start, end in times:
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _unavailable(start: int, end: int) -> str:
    return (
        f"the evidence store was unavailable for {durations.show(end - start)} from {start} (µs "
        "since 1970). No row is missing, but commits waited for the ledger, and a member that "
        "waited may have left its group, which is not Kafka's doing. See that the store stays "
        "available, and run the test again"
    )


def _failure(recording: Recording) -> str:
    """Return what ended a recorder that another one replaced, "" where that is not known."""
    for event in recording.timeline.of(Source.POD, EventName.EXITED):
        if event.detail.get("component") != Component.RECORDER:
            continue
        try:
            ended = json.loads(event.detail.get("message") or "")
        except ValueError:
            continue
        if isinstance(ended, dict) and ended.get("error"):
            return f"The recorder had ended: {ended['error']}"
    return ""


def _unobserved_end(recording: Recording) -> bool:
    start = recording.timeline.unobserved_from()
    return start is not None and start < span_of(recording).end
