"""What the rows of a ledger can hold: ranges of numbers, times of the run, groups of the plan.

No writer of ours records anything else. A row outside of these limits is not evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.durations import MICROS
from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.evidence import (
    CONSUME,
    CONSUMER_EVENTS,
    LOG,
    LOG_END_OFFSETS,
    PRODUCE,
    PRODUCER_SUMMARY,
    REPLICA_BOUNDS,
    REPLICA_LOG,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_contract.plan import Plan
    from krt_scoring.inputs.timeline import Timeline

Range = tuple[int, int]
"""The least and the greatest value."""

COUNT: Range = (0, (1 << 63) - 1)
OFFSET: Range = (0, (1 << 40) - 1)
"""As many offsets as a position distinguishes (``history.positions``)."""
PARTITION: Range = (0, (1 << 16) - 1)
"""As many partitions as a position distinguishes."""

NUMBERS: Mapping[str, Mapping[str, Range]] = {
    PRODUCE: {"seq": COUNT, "partition": PARTITION, "offset": OFFSET},
    PRODUCER_SUMMARY: dict.fromkeys(("attempted", "acked", "failed", "unknown"), COUNT),
    CONSUME: {
        **dict.fromkeys(("event_seq", "poll", "poll_index", "seq"), COUNT),
        "partition": PARTITION,
        "offset": OFFSET,
    },
    CONSUMER_EVENTS: {
        **dict.fromkeys(("event_seq", "poll"), COUNT),
        "partition": PARTITION,
        "offset": OFFSET,
    },
    LOG: {"partition": PARTITION, "offset": OFFSET, "seq": COUNT, "size": COUNT},
    LOG_END_OFFSETS: {
        "partition": PARTITION,
        **dict.fromkeys(("log_start", "high_watermark", "read_from", "read_to"), OFFSET),
        "rows_read": COUNT,
    },
    REPLICA_LOG: {"partition": PARTITION, "offset": OFFSET},
    REPLICA_BOUNDS: {"partition": PARTITION, "log_start": OFFSET, "log_end": OFFSET},
}
"""Table → its columns of numbers, and what they can be; null is none of these."""

TIMES: Mapping[str, tuple[str, ...]] = {
    PRODUCE: ("scheduled_at", "sent_at", "done_at"),
    CONSUME: ("delivered_at",),
    CONSUMER_EVENTS: ("at",),
}
"""Table → its columns of times, UTC µs."""

GROUPED = (CONSUME, CONSUMER_EVENTS)
"""Tables of which each row names a consumer group."""

CLOCK_TOLERANCE = 5 * MICROS["m"]
"""By how much the clock of a node may be behind that of the recorder's, in µs. Clocks that differ
by less have a reason of their own; certificates of a cluster are valid from 5 minutes before they
are signed, so that a node further behind cannot join it."""

LONGEST_RUN = 31 * 24 * MICROS["h"]
"""µs after which nothing of a run happens any more."""


@dataclass(frozen=True, slots=True)
class RowLimits:
    """What the rows of one run can hold.

    Attributes:
        times: earliest and latest time, UTC µs; None where no timeline says when the run began.
        groups: the consumer groups of the plan.
    """

    times: Range | None
    groups: frozenset[str]

    def ranges(self, table: str) -> dict[str, Range]:
        """Return the columns of a table that have a range, and the range."""
        ranges = dict(NUMBERS.get(table, {}))
        if self.times is not None:
            ranges |= dict.fromkeys(TIMES.get(table, ()), self.times)
        return ranges


def limits_of(run: Plan, timeline: Timeline) -> RowLimits:
    """Return what the rows of a run can hold."""
    started = [event.at for event in timeline.of(Source.RECORDER, EventName.STARTED)]
    begin = min(started or [event.at for event in timeline.events], default=None)
    times = None if begin is None else (begin - CLOCK_TOLERANCE, begin + LONGEST_RUN)
    return RowLimits(times, frozenset(consumer.group for consumer in run.consumers))
