"""The log must have been settled, and read from its start to its settled end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.inputs.evidence import LOG
from krt_scoring.inputs.reasons import LOG_ANOMALIES, UNREAD_LOG_ANOMALIES, Reason
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krt_contract.plan import Plan
    from krt_scoring.inputs.recording import LogEnd


def unstable_partitions(log_ends: Sequence[LogEnd]) -> tuple[tuple[str, int], ...]:
    """Return the partitions whose log did not settle, in order."""
    return tuple(sorted((end.topic, end.partition) for end in log_ends if not end.settled))


def check(run: Plan, log_ends: Sequence[LogEnd]) -> Iterator[Reason]:
    """Yield ``LogNotStable`` and ``LogNotRead`` for each partition concerned."""
    by_partition = {(log_end.topic, log_end.partition): log_end for log_end in log_ends}
    for topic in run.topics:
        for partition in range(topic.partitions):
            subject = f"{topic.name}-{partition}"
            scope = Scope(tables=(LOG,), partitions=((topic.name, partition),))
            log_end = by_partition.get((topic.name, partition))
            if log_end is None:
                if by_partition:
                    message = (
                        "the start and end of this partition's log were not recorded, so the log "
                        "was not read"
                    )
                    yield Reason(
                        "evidence", "LogNotRead", subject, message, UNREAD_LOG_ANOMALIES, scope
                    )
            elif not log_end.settled:
                message = (
                    "the log did not become stable in time: its high watermark, last "
                    f"{log_end.high_watermark}, still moved, or its ISR stayed below the minimum. "
                    "Raise spec.timeouts.drain if the cluster only needs more time"
                )
                yield Reason("evidence", "LogNotStable", subject, message, LOG_ANOMALIES, scope)
            elif log_end.read_from > log_end.log_start or log_end.read_to < log_end.high_watermark:
                message = (
                    f"the log was read from {log_end.read_from} to {log_end.read_to}, but it "
                    f"reaches from {log_end.log_start} to {log_end.high_watermark}. See the log of "
                    "the scoring Job"
                )
                yield Reason("evidence", "LogNotRead", subject, message, LOG_ANOMALIES, scope)
