"""What each anomaly is judged by: the tables that its rule reads, and what one finding names.

Where a part of the evidence is missing, the findings that rest on that part are void, and no
others. A finding rests on one part of a table alone where it names that part: a poll-skip names a
partition and a group, so that the deliveries of another group say nothing about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PRODUCE = "produce"
PRODUCER_SUMMARY = "producer_summary"
CONSUME = "consume"
CONSUMER_EVENTS = "consumer_events"
LOG = "log"
LOG_END_OFFSETS = "log_end_offsets"
REPLICA_LOG = "replica_log"
REPLICA_BOUNDS = "replica_bounds"
"""Tables of the bundle."""

TIMELINE = "timeline"
"""Elections, ISRs and deaths, from which it is read what the configuration permits."""

CLOCKS = "clocks"
"""Times of different hosts that are compared; all else is ordered by offset or counter."""


class Dimension(StrEnum):
    """What a finding may name, so that it rests on that part of the evidence alone."""

    PARTITION = "partition"
    GROUP = "group"
    INCARNATION = "incarnation"
    """Of a producer."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an anomaly is judged by.

    Attributes:
        tables: what its rule reads.
        by: what each of its findings names.
        unread: what its rule reads besides of a partition whose log was not read.
    """

    tables: frozenset[str]
    by: frozenset[Dimension]
    unread: frozenset[str] = frozenset()


_RECORD = frozenset({Dimension.PARTITION, Dimension.INCARNATION})
_LANE = frozenset({Dimension.PARTITION, Dimension.GROUP})
_READING = frozenset({CONSUME, CONSUMER_EVENTS, TIMELINE})

EVIDENCE: Mapping[str, Evidence] = {
    "lost-write": Evidence(
        frozenset({PRODUCE, LOG, TIMELINE}), _RECORD, frozenset({CONSUME, CONSUMER_EVENTS})
    ),
    "vanished-read": Evidence(frozenset({CONSUME, LOG, LOG_END_OFFSETS, TIMELINE}), _RECORD),
    "misplaced-delivery": Evidence(
        frozenset({CONSUME, LOG, LOG_END_OFFSETS, TIMELINE}), frozenset(Dimension)
    ),
    "unseen": Evidence(
        frozenset({PRODUCE, CONSUME, CONSUMER_EVENTS, LOG, LOG_END_OFFSETS, TIMELINE}),
        frozenset(Dimension),
    ),
    # The expiry that permits a second copy is in the producer's ledger.
    "duplicate-write": Evidence(frozenset({PRODUCE, LOG, LOG_END_OFFSETS}), _RECORD),
    "duplicate-delivery": Evidence(_READING, _LANE),
    # The two values of an offset may be of two producers.
    "inconsistent-offsets": Evidence(
        frozenset({PRODUCE, CONSUME, LOG, LOG_END_OFFSETS, TIMELINE}),
        frozenset({Dimension.PARTITION}),
    ),
    "aborted-read": Evidence(frozenset({PRODUCE, CONSUME, LOG, LOG_END_OFFSETS}), _RECORD),
    "poll-skip": Evidence(_READING, _LANE),
    "int-poll-skip": Evidence(_READING, _LANE),
    "nonmonotonic-poll": Evidence(_READING, _LANE),
    "int-nonmonotonic-poll": Evidence(_READING, _LANE),
    "nonmonotonic-send": Evidence(frozenset({PRODUCE, LOG, LOG_END_OFFSETS}), _RECORD),
    "int-nonmonotonic-send": Evidence(frozenset({PRODUCE, LOG, LOG_END_OFFSETS}), _RECORD),
    "precommitted-read": Evidence(frozenset({PRODUCE, CONSUME}), frozenset(Dimension)),
    "commit-ahead": Evidence(_READING, _LANE),
    "commit-rewind": Evidence(_READING, _LANE),
    "double-ownership": Evidence(frozenset({CONSUMER_EVENTS, TIMELINE, CLOCKS}), _LANE),
    "unexpected-rebalance": Evidence(
        frozenset({CONSUMER_EVENTS, TIMELINE, CLOCKS}), frozenset({Dimension.GROUP})
    ),
    "key-order": Evidence(_READING, _LANE),
    "corrupt-payload": Evidence(frozenset({PRODUCE, CONSUME}), _RECORD),
    "accepted-below-min-isr": Evidence(frozenset({PRODUCE, TIMELINE, CLOCKS}), _RECORD),
    "replica-divergence": Evidence(
        frozenset({LOG_END_OFFSETS, REPLICA_LOG, REPLICA_BOUNDS}), frozenset({Dimension.PARTITION})
    ),
}
"""Anomaly → what it is judged by."""


def resting_on(table: str) -> tuple[str, ...]:
    """Return the anomalies whose rule reads a table, in the order of ``EVIDENCE``."""
    return tuple(name for name, evidence in EVIDENCE.items() if table in evidence.tables)
