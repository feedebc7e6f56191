"""Claims on sessions, the controller and ZooKeeper itself during a fault.

A silence of ZooKeeper hides none of them: sessions and controllers are known by the transaction
that made their node, so one that ended meanwhile is seen to have ended when the silence is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_scoring.expectations.result import (
    Result,
    between,
    counted,
    unmeasured,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence
    from krt_scoring.inputs.fault_windows import FaultWindow


def of_fault(
    expect: Mapping[str, Any], window: FaultWindow, end: int, evidence: Evidence
) -> Iterator[Result]:
    """Yield the results of these claims from a fault's injection to ``end``."""
    start = window.injected_at or 0
    for field, (source, event, what) in EVENTS.items():
        bounds = expect.get(field)
        if not bounds:
            continue
        claim = f"{window.name}.{field}"
        if not any(evidence.timeline.of(source)):
            yield unmeasured(claim, between(bounds, what), f"the timeline says nothing of {source}")
            continue
        found = [e.subject for e in evidence.timeline.of(source, event) if start < e.at <= end]
        if field in MOVES:
            found = _moves(source, event, start, end, evidence)
        yield counted(claim, bounds, len(found), what, where=", ".join(found[:8]))


EVENTS = {
    "brokerSessionExpirations": (
        Source.BROKER,
        EventName.UNREGISTERED,
        "sessions of brokers lost",
    ),
    "controllerChanges": (Source.CONTROLLER, EventName.ELECTED, "other controllers"),
    "zookeeperLeaderChanges": (Source.ZOOKEEPER, EventName.LEADER, "other leaders of ZooKeeper"),
    "quorumLosses": (Source.ZOOKEEPER, EventName.QUORUM_LOST, "losses of ZooKeeper's quorum"),
}
"""Field → source and event of the timeline, and what they count."""

MOVES = ("controllerChanges", "zookeeperLeaderChanges")
"""Fields that count only what differs from the one before."""


def _moves(source: str, event: str, start: int, end: int, evidence: Evidence) -> list[str]:
    found = []
    before = ""
    for item in evidence.timeline.of(source, event):
        if item.at > end:
            break
        if item.at > start and item.subject != before and before:
            found.append(item.subject)
        before = item.subject
    return found
