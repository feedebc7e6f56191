"""Why a run, or a part of it, proves nothing.

There are two kinds: **evidence** invalidates the findings that rest on what is missing or damaged,
and no others (its scope says on what); **coverage** means that the run did not exercise what it was
to exercise, and never overrides a violation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from krt_contract.schemas import TABLES
from krt_scoring.inputs.evidence import (
    CLOCKS,
    CONSUME,
    CONSUMER_EVENTS,
    EVIDENCE,
    LOG,
    PRODUCE,
    REPLICA_LOG,
    TIMELINE,
    Dimension,
    resting_on,
)
from krt_scoring.inputs.scope import EVERYTHING, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal["evidence", "coverage"]

LOG_ANOMALIES = resting_on(LOG)
"""Anomalies that rest on what the brokers hold."""

UNREAD_LOG_ANOMALIES = tuple(name for name in LOG_ANOMALIES if name != "lost-write")
"""Anomalies that rest on a log that was not read; lost-write is then judged by deliveries."""

SEND_ANOMALIES = resting_on(PRODUCE)
"""Anomalies that rest on the producers' ledgers."""

DELIVERY_ANOMALIES = resting_on(CONSUME)
"""Anomalies that rest on the consumers' deliveries."""

OWNERSHIP_ANOMALIES = resting_on(CONSUMER_EVENTS)
"""Anomalies that rest on the consumers' events: assignments, seeks, commits."""

TIMELINE_ANOMALIES = resting_on(TIMELINE)
"""Anomalies whose permission is read from the timeline (elections, ISRs, deaths)."""

CLOCK_ANOMALIES = resting_on(CLOCKS)
"""Anomalies that compare times of different hosts."""

REPLICA_ANOMALIES = resting_on(REPLICA_LOG)
"""Anomalies that rest on what each broker's replicas hold."""

PARTITION_ANOMALIES = tuple(
    name for name, evidence in EVIDENCE.items() if Dimension.PARTITION in evidence.by
)
"""Anomalies whose findings name a partition."""

ALL = tuple(sorted(EVIDENCE))
"""Every anomaly: what doubts about the identity of a run invalidate."""

BY_TABLE = {table: resting_on(table) for table in TABLES}
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
        scope: the part of the evidence that it is about: only findings that rest on it are void.
    """

    kind: Kind
    code: str
    subject: str
    message: str
    invalidates: tuple[str, ...] = ()
    scope: Scope = EVERYTHING

    def as_dict(self) -> dict[str, Any]:
        """Return the reason as the scorecard holds it; ``scope`` only where it is narrower."""
        scope = {"scope": self.scope.as_dict()} if self.scope and self.invalidates else {}
        return {
            "kind": self.kind,
            "code": self.code,
            "subject": self.subject,
            "message": self.message,
            "invalidates": sorted(self.invalidates),
            **scope,
        }


def invalidated(reasons: Iterable[Reason]) -> frozenset[str]:
    """Return the anomalies of which any finding may rest on missing or damaged evidence."""
    return frozenset(name for reason in reasons for name in reason.invalidates)


def wholly_invalidated(reasons: Iterable[Reason]) -> frozenset[str]:
    """Return the anomalies of which every finding rests on missing or damaged evidence."""
    return frozenset(
        name
        for reason in reasons
        for name in reason.invalidates
        if reason.scope.covers(EVIDENCE[name])
    )
