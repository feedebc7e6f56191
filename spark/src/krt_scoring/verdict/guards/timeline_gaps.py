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

Whatever falls silent while the cluster is still being made, before the first record was due, hides
nothing that a record could prove or disprove.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring import durations
from krt_scoring.inputs import timeline
from krt_scoring.inputs.reasons import Reason
from krt_scoring.verdict.guards import unknown_leaders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.recording import Recording


def _unseen_leaders(recording: Recording) -> list[tuple[int, int]]:
    """Return the spans (UTC µs) in which a leader that may permit something was not recorded."""
    topics = (topic.name for topic in recording.run.topics)
    concerned = {name for name in topics if unknown_leaders.permitting(recording, name)}
    last: dict[str, tuple[int, int]] = {}
    unseen = []
    states = recording.timeline.of("partition", "state")
    for event in sorted(states, key=lambda e: (e.subject, int(e.detail["version"]))):
        if event.subject.rpartition("-")[0] not in concerned:
            continue
        epoch = int(event.detail["leader_epoch"])
        before, at = last.get(event.subject, (epoch, event.at))
        if epoch > before + 1:
            unseen.append((at, event.at))
        last[event.subject] = (epoch, event.at)
    return unseen


def check(recording: Recording) -> Iterator[Reason]:
    """Yield ``TimelineGap`` for each gap during traffic, and for an end that was not written."""
    unseen = _unseen_leaders(recording)
    first, _ = recording.inspection.sends
    for stream, start, end in sorted(recording.timeline.silences()):
        if end < first:
            continue
        if stream in timeline.LATE and not any(
            before <= end and start <= after for before, after in unseen
        ):
            continue
        message = (
            f"nothing was recorded for {durations.show(end - start)} from {start} (µs since 1970), "
            "so an event that the rules need may be missing. Run the test again"
        )
        yield Reason("coverage", "TimelineGap", stream or "recorder", message)
    started = any(recording.timeline.of("recorder", "started"))
    if started and not any(recording.timeline.of("recorder", "stopped")):
        message = (
            "the recorder did not stop in order, so the end of the timeline may be missing. See "
            "the recorder's log and run the test again"
        )
        yield Reason("coverage", "TimelineGap", "recorder", message)
