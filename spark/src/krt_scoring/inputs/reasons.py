"""Why a run, or a part of it, proves nothing.

There are two kinds: **evidence** invalidates the anomalies that rest on what is missing or damaged,
and no others; **coverage** means that the run did not exercise what it was to exercise, and never
overrides a violation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal["evidence", "coverage"]

LOG_ANOMALIES = (
    "lost-write",
    "vanished-read",
    "unseen",
    "duplicate-write",
    "misplaced-delivery",
    "inconsistent-offsets",
    "aborted-read",
    "nonmonotonic-send",
    "int-nonmonotonic-send",
)
"""Anomalies that rest on what the brokers hold."""

UNREAD_LOG_ANOMALIES = tuple(name for name in LOG_ANOMALIES if name != "lost-write")
"""Anomalies that rest on a log that was not read; lost-write is then judged by deliveries."""

SEND_ANOMALIES = (
    "lost-write",
    "unseen",
    "inconsistent-offsets",
    "aborted-read",
    "nonmonotonic-send",
    "int-nonmonotonic-send",
    "precommitted-read",
    "accepted-below-min-isr",
    "corrupt-payload",
)
"""Anomalies that rest on the producers' ledgers."""

DELIVERY_ANOMALIES = (
    "vanished-read",
    "unseen",
    "duplicate-delivery",
    "misplaced-delivery",
    "inconsistent-offsets",
    "aborted-read",
    "poll-skip",
    "nonmonotonic-poll",
    "int-poll-skip",
    "int-nonmonotonic-poll",
    "precommitted-read",
    "commit-ahead",
    "key-order",
    "corrupt-payload",
)
"""Anomalies that rest on the consumers' deliveries."""

OWNERSHIP_ANOMALIES = (
    "unseen",
    "duplicate-delivery",
    "poll-skip",
    "nonmonotonic-poll",
    "int-poll-skip",
    "int-nonmonotonic-poll",
    "commit-ahead",
    "commit-rewind",
    "double-ownership",
    "unexpected-rebalance",
    "key-order",
)
"""Anomalies that rest on the consumers' events: assignments, seeks, commits."""

TIMELINE_ANOMALIES = (
    "lost-write",
    "vanished-read",
    "misplaced-delivery",
    "inconsistent-offsets",
    "duplicate-delivery",
    "poll-skip",
    "nonmonotonic-poll",
    "commit-ahead",
    "commit-rewind",
    "double-ownership",
    "unexpected-rebalance",
    "accepted-below-min-isr",
)
"""Anomalies whose permission is read from the timeline (elections, ISRs, deaths)."""

CLOCK_ANOMALIES = ("accepted-below-min-isr", "double-ownership", "unexpected-rebalance")
"""Anomalies that compare times of different hosts; all others order by offset or counter."""

REPLICA_ANOMALIES = ("replica-divergence",)
"""Anomalies that rest on what each broker's replicas hold."""

ALL = tuple(
    sorted(
        {
            *LOG_ANOMALIES,
            *SEND_ANOMALIES,
            *DELIVERY_ANOMALIES,
            *OWNERSHIP_ANOMALIES,
            *REPLICA_ANOMALIES,
        }
    )
)
"""Every anomaly: what doubts about the identity of a run invalidate."""

BY_TABLE = {
    "produce": SEND_ANOMALIES,
    "producer_summary": (),
    "consume": DELIVERY_ANOMALIES,
    "consumer_events": OWNERSHIP_ANOMALIES,
    "log": LOG_ANOMALIES,
    "log_end_offsets": (*UNREAD_LOG_ANOMALIES, *REPLICA_ANOMALIES),
    "replica_log": REPLICA_ANOMALIES,
    "replica_bounds": REPLICA_ANOMALIES,
}
"""Table of the bundle → anomalies that cannot be judged when some of it is gone."""


@dataclass(frozen=True, slots=True, order=True)
class Reason:
    """One reason for ``Inconclusive``.

    Attributes:
        kind: ``evidence`` or ``coverage``.
        code: stable, in CamelCase.
        subject: the file, fault, pod, partition or group it is about.
        message: a sentence a person can act on.
        invalidates: names of the anomalies it invalidates; empty for coverage.
    """

    kind: Kind
    code: str
    subject: str
    message: str
    invalidates: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the reason as the scorecard holds it."""
        return {
            "kind": self.kind,
            "code": self.code,
            "subject": self.subject,
            "message": self.message,
            "invalidates": sorted(self.invalidates),
        }


def invalidated(reasons: Iterable[Reason]) -> frozenset[str]:
    """Return the anomalies that rest on missing or damaged evidence."""
    return frozenset(name for reason in reasons for name in reason.invalidates)
