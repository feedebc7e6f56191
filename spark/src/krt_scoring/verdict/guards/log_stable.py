"""The log must have been settled, and read from its start to its settled end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.reasons import LOG_ANOMALIES, UNREAD_LOG_ANOMALIES, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``LogNotStable`` and ``LogNotRead`` for each partition concerned."""
    bounds = {(bound.topic, bound.partition): bound for bound in facts.bounds}
    for topic in facts.run.topics:
        for partition in range(topic.partitions):
            subject = f"{topic.name}-{partition}"
            bound = bounds.get((topic.name, partition))
            if bound is None:
                if bounds:
                    message = "no bounds were taken of this partition's log"
                    yield Reason("evidence", "LogNotRead", subject, message, UNREAD_LOG_ANOMALIES)
            elif not bound.settled:
                message = (
                    "its log did not become stable in time: high watermark "
                    f"{bound.high_watermark} still moved, or its ISR stayed too small"
                )
                yield Reason("evidence", "LogNotStable", subject, message, LOG_ANOMALIES)
            elif bound.read_from > bound.log_start or bound.read_to < bound.high_watermark:
                message = (
                    f"read from {bound.read_from} to {bound.read_to}, but the log reaches from "
                    f"{bound.log_start} to {bound.high_watermark}"
                )
                yield Reason("evidence", "LogNotRead", subject, message, LOG_ANOMALIES)
