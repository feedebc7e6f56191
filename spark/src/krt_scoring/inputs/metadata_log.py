"""The history of a KRaft cluster, from the records of its metadata log.

The recorder wrote the same events onto the timeline as it read the records; what the records say
counts, so an event that a killed recorder did not write is not missing, and none counts twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from krt_contract.metadata import HistorySource
from krt_contract.metadata_log.files import Damage, StoredLog, read_log
from krt_contract.metadata_log.fold import events_of, is_folded
from krt_scoring.inputs.evidence import TIMELINE
from krt_scoring.inputs.reasons import TIMELINE_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from krt_contract.plan import Plan
    from krt_scoring.inputs.timeline import Timeline

FOLDER = "metadata_log"
FIRST_OFFSETS = frozenset({0, 1})
"""Where a whole log begins: once there is a snapshot, a controller does not give its record 0."""


def with_metadata_log(timeline: Timeline, folder: Path, run: Plan) -> Timeline:
    """Return a timeline with the history that the records tell, in place of what it has of it.

    Args:
        timeline: the events of a run.
        folder: the bundle's folder of the metadata log.
        run: the plan; one of another source is returned with its timeline as it is.
    """
    if run.metadata.source is not HistorySource.METADATA_LOG:
        return timeline
    try:
        stored = read_log(folder)
    except OSError as error:
        return _with_reasons(timeline, [_damage(FOLDER, f"cannot be read ({error.strerror})")])
    if stored.first is None:
        message = (
            "no record of the metadata log was kept, so nothing shows who led and which replicas "
            "were in sync. See the recorder's log and run the test again"
        )
        missing = Reason("evidence", "FileMissing", FOLDER, message, TIMELINE_ANOMALIES, _SCOPE)
        return _with_reasons(timeline, [missing])
    others = tuple(event for event in timeline.events if not is_folded(event))
    joined = replace(timeline, events=others).joined(events_of(stored.records))
    return _with_reasons(joined, list(_reasons(stored)))


_SCOPE = Scope(tables=(TIMELINE,))


def _reasons(stored: StoredLog) -> Iterator[Reason]:
    first = stored.first or 0
    gaps = [*stored.gaps()] if first in FIRST_OFFSETS else [(0, first - 1), *stored.gaps()]
    for begin, end in gaps:
        message = (
            f"the records {begin} to {end} of the metadata log are missing, so a leader or an ISR "
            "may not be known. Copy the evidence again, or run the test again"
        )
        yield Reason(
            "evidence", "MetadataLogIncomplete", FOLDER, message, TIMELINE_ANOMALIES, _SCOPE
        )
    for damage in stored.damages:
        yield _of_damage(damage)


def _of_damage(damage: Damage) -> Reason:
    name = f"{FOLDER}/{damage.file}"
    if damage.torn:
        message = "its last line is torn: the recorder was killed while it wrote"
        return Reason("coverage", "TimelineTorn", name, message)
    return _damage(name, f"line {damage.line} is no record of the metadata log")


def _damage(subject: str, message: str) -> Reason:
    return Reason("evidence", "FileUnreadable", subject, message, TIMELINE_ANOMALIES, _SCOPE)


def _with_reasons(timeline: Timeline, reasons: list[Reason]) -> Timeline:
    return replace(timeline, reasons=(*timeline.reasons, *reasons))
