"""A producer that left no closing record, and nothing that explains why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.reasons import SEND_ANOMALIES, Reason
from krt_scoring.verdict.guards.ended import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``ProducerSummaryMissing`` for each incarnation that wrote sends but no close."""
    closed = facts.inspection.incarnations["producer_summary"]
    killed = explained(facts)
    for producer, incarnation in sorted(facts.inspection.incarnations["produce"] - closed):
        if incarnation in killed:
            continue
        message = (
            f"incarnation {incarnation} wrote no closing record and no fault or exit explains it: "
            "what it attempted is only known from its rows"
        )
        yield Reason("evidence", "ProducerSummaryMissing", producer, message, SEND_ANOMALIES)
