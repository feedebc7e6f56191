"""What was recorded of a run, as loaded: everything of a bundle but the ledgers' rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from krt_scoring.inputs import fault_windows, timeline
from krt_scoring.inputs.member_logs.partition_states import with_missed_states
from krt_scoring.inputs.member_logs.refused_sequences import with_refused_sequences

if TYPE_CHECKING:
    from krt_contract.plan import Plan
    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.inputs.fault_windows import FaultWindow
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
    """

    run: Plan
    timeline: Timeline
    faults: tuple[FaultWindow, ...]
    inspection: Inspection
    log_ends: tuple[LogEnd, ...] = ()


def load(inspection: Inspection, run: Plan) -> Recording:
    """Load the recording of a bundle whose files were inspected."""
    bundle = inspection.bundle
    events = with_missed_states(timeline.read(bundle.timeline), bundle.logs)
    events = with_refused_sequences(events, bundle.logs)
    faults = fault_windows.fault_windows(events.events)
    return Recording(run, events, faults, inspection, _log_ends(inspection))


def _log_ends(inspection: Inspection) -> tuple[LogEnd, ...]:
    columns = [
        *("topic", "partition", "settled", "read_from", "read_to"),
        *("log_start", "high_watermark", "rows_read"),
    ]
    files = inspection.files["log_end_offsets"]
    if not files:
        return ()
    table = pa.concat_tables([pq.read_table(path, columns=columns) for path in files])
    return tuple(LogEnd(**row) for row in table.to_pylist())
