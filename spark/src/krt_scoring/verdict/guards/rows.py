"""Rows that are gone although no file that is left shows a hole.

The numbers of a writer's files show a missing file only where a later one is there. What a ledger
counts by itself shows the rest: the counter that a consumer's deliveries and events share has no
gap in an incarnation that ended in order, and the bounds say how many records of the log were
read. (Sends are counted by their close records; see the ledger identity.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.reasons import (
    DELIVERY_ANOMALIES,
    LOG_ANOMALIES,
    OWNERSHIP_ANOMALIES,
    Reason,
)
from krt_scoring.verdict.guards.ended import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts

CONSUMER_ANOMALIES = tuple(sorted({*DELIVERY_ANOMALIES, *OWNERSHIP_ANOMALIES}))


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``RowsMissing`` for each consumer and for the log."""
    whole = _ended_in_order(facts) - explained(facts)
    for (consumer, incarnation), counted in sorted(facts.inspection.counters.items()):
        if counted.rows != counted.highest + 1 and incarnation in whole:
            message = (
                f"consume/ and consumer_events/ hold {counted.rows} rows of incarnation "
                f"{incarnation}, which counted {counted.highest + 1}: a file is gone, or there "
                "twice"
            )
            yield Reason("evidence", "RowsMissing", consumer, message, CONSUMER_ANOMALIES)
    read = sum(bound.rows_read for bound in facts.bounds)
    held = facts.inspection.rows.get("log", 0)
    if held < read:
        message = f"log/ holds {held} records of {read} that were read: a file is gone"
        yield Reason("evidence", "RowsMissing", "log", message, LOG_ANOMALIES)


def _ended_in_order(facts: Facts) -> set[str]:
    """Return the uids of pods that said how they ended, after they had written everything."""
    return {
        str(event.detail.get("uid"))
        for event in facts.timeline.of(Source.POD, EventName.EXITED)
        if event.detail.get("exitCode") == 0 or event.detail.get("message")
    }
