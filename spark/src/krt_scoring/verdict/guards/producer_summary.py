"""A producer that left no summary, and nothing that explains why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.evidence import PRODUCE
from krt_scoring.inputs.reasons import SEND_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope
from krt_scoring.verdict.guards.explained_exits import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.inputs.recording import Recording


def check(recording: Recording) -> Iterator[Reason]:
    """Yield ``ProducerSummaryMissing`` for each incarnation that wrote sends but no summary."""
    summarized = recording.inspection.incarnations["producer_summary"]
    killed = explained(recording)
    for producer, incarnation in sorted(recording.inspection.incarnations["produce"] - summarized):
        if incarnation in killed:
            continue
        message = (
            f"incarnation {incarnation} wrote no summary, and no fault explains it: how many sends "
            "it attempted is known from its rows alone. See the pod's log and exit code"
        )
        scope = Scope(tables=(PRODUCE,), incarnations=(incarnation,))
        yield Reason("evidence", "ProducerSummaryMissing", producer, message, SEND_ANOMALIES, scope)
