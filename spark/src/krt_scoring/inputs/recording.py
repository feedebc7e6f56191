"""What was recorded of a run, as loaded: everything of a bundle but the ledgers' rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from krt_contract.metadata import Strength
from krt_scoring.inputs import below_begin, fault_windows, row_checks, timeline
from krt_scoring.inputs.evidence import LOG, LOG_END_OFFSETS
from krt_scoring.inputs.member_logs.partition_states import with_missed_states
from krt_scoring.inputs.member_logs.refused_sequences import with_refused_sequences
from krt_scoring.inputs.metadata_log import with_metadata_log
from krt_scoring.inputs.row_limits import limits_of

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.row_limits import RowLimits
    from krt_scoring.inputs.scope import Partition
    from krt_scoring.inputs.timeline import Timeline


@dataclass(frozen=True, slots=True)
class LogEnd:
    """One partition's row of ``log_end_offsets``."""

    topic: str
    partition: int
    settled: bool
    read_from: int
    read_to: int
    log_start: int
    high_watermark: int
    rows_read: int = 0


@dataclass(frozen=True, slots=True)
class Recording:
    """What was recorded of a run; nothing in it grows with the records.

    Attributes:
        run: the plan.
        timeline: the events, completed from the members' logs.
        faults: when each fault acted.
        inspection: the usable files of the bundle.
        log_ends: from where to where each partition's log was read.
        limits: what the rows of the run can hold; None where rows were not looked at.
        below_begin: partitions of topics that were there before, whose log ends, or was used,
            below where the run began.
    """

    run: Plan
    timeline: Timeline
    faults: tuple[FaultWindow, ...]
    inspection: Inspection
    log_ends: tuple[LogEnd, ...] = ()
    limits: RowLimits | None = None
    below_begin: tuple[Partition, ...] = ()

    def short_partitions(self) -> tuple[tuple[str, int], ...]:
        """Return the partitions of which ``log/`` holds fewer records than were read, in order."""
        return _short_partitions(self.inspection, self.log_ends)


def load(inspection: Inspection, run: Plan) -> Recording:
    """Load the recording of a bundle whose files were inspected."""
    bundle = inspection.bundle
    events = with_metadata_log(timeline.read(bundle.timeline), bundle.metadata_log, run)
    if run.metadata.source.strength is Strength.WATCHED:
        events = with_missed_states(events, bundle.logs)
    events = with_refused_sequences(events, bundle.logs)
    faults = fault_windows.fault_windows(events.events)
    limits = limits_of(run, events)
    sound = row_checks.checked(inspection, limits)
    log_ends = _log_ends(sound, limits)
    return Recording(
        run,
        events,
        faults,
        _narrowed(sound, log_ends),
        log_ends,
        limits,
        below_begin.find(sound.files, log_ends, run),
    )


def _short_partitions(
    inspection: Inspection, log_ends: tuple[LogEnd, ...]
) -> tuple[tuple[str, int], ...]:
    counted = inspection.rows_by_partition(LOG)
    return tuple(
        sorted(
            (end.topic, end.partition)
            for end in log_ends
            if counted[end.topic, end.partition] < end.rows_read
        )
    )


def _narrowed(inspection: Inspection, log_ends: tuple[LogEnd, ...]) -> Inspection:
    """Return the inspection with the partitions named whose records a file of the log lacks.

    A file of the log holds records of any partition; how many were read says of which.
    """
    about_log = [reason for reason in inspection.reasons if reason.scope.tables == (LOG,)]
    partitions = _short_partitions(inspection, log_ends) if about_log else ()
    if not partitions:
        return inspection
    reasons = (
        replace(reason, scope=replace(reason.scope, partitions=partitions))
        if reason in about_log
        else reason
        for reason in inspection.reasons
    )
    return replace(inspection, reasons=tuple(reasons))


def _log_ends(inspection: Inspection, limits: RowLimits) -> tuple[LogEnd, ...]:
    columns = [
        *("topic", "partition", "settled", "read_from", "read_to"),
        *("log_start", "high_watermark", "rows_read"),
    ]
    files = inspection.files[LOG_END_OFFSETS]
    if not files:
        return ()
    table = pa.concat_tables([pq.read_table(path, columns=columns) for path in files])
    ranges = limits.ranges(LOG_END_OFFSETS)
    return tuple(
        LogEnd(**row)
        for row in table.to_pylist()
        if all(low <= row[name] <= high for name, (low, high) in ranges.items())
    )
