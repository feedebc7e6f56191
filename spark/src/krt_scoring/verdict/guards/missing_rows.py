"""Rows that are missing although no file that is left shows a hole.

The numbers of a writer's files show a missing file only where a later one is there. What a ledger
counts by itself shows the rest: the counter that a consumer's deliveries and events share has no
gap in an incarnation that ended in order, and the bounds say how many records of the log were
read. (Sends are counted by their close records; see the ledger identity.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.evidence import CONSUME, CONSUMER_EVENTS, LOG
from krt_scoring.inputs.reasons import (
    DELIVERY_ANOMALIES,
    LOG_ANOMALIES,
    OWNERSHIP_ANOMALIES,
    Reason,
)
from krt_scoring.inputs.scope import Scope
from krt_scoring.verdict.guards.explained_exits import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.recording import Recording

CONSUMER_ANOMALIES = tuple(sorted({*DELIVERY_ANOMALIES, *OWNERSHIP_ANOMALIES}))


def check(recording: Recording) -> Iterator[Reason]:
    """Yield ``RowsMissing`` for each consumer and for the log."""
    complete = _ended_in_order(recording) - explained(recording)
    for (consumer, incarnation), counted in sorted(recording.inspection.counters.items()):
        if counted.rows != counted.highest + 1 and incarnation in complete:
            message = (
                f"consume/ and consumer_events/ hold {counted.rows} rows of incarnation "
                f"{incarnation}, which counted {counted.highest + 1}: a file is missing, or in the "
                "bundle twice. Restore the bundle from its copy and score it again"
            )
            scope = replace(
                recording.inspection.scope(CONSUME, incarnation), tables=(CONSUME, CONSUMER_EVENTS)
            )
            yield Reason("evidence", "RowsMissing", consumer, message, CONSUMER_ANOMALIES, scope)
    read = sum(log_end.rows_read for log_end in recording.log_ends)
    in_bundle = recording.inspection.rows.get(LOG, 0)
    if in_bundle < read:
        message = (
            f"log/ holds {in_bundle} of {read} records that were read: a file is missing. Restore "
            "the bundle from its copy and score it again"
        )
        scope = Scope(tables=(LOG,), partitions=recording.short_partitions())
        yield Reason("evidence", "RowsMissing", LOG, message, LOG_ANOMALIES, scope)


def _ended_in_order(recording: Recording) -> set[str]:
    """Return the uids of pods that reported how they ended, after they had written everything."""
    return {
        str(event.detail.get("uid"))
        for event in recording.timeline.of(Source.POD, EventName.EXITED)
        if event.detail.get("exitCode") == 0 or event.detail.get("message")
    }
