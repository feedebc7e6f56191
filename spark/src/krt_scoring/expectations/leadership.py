"""Claims on who led the tested partitions during a fault, and at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.members import member_of
from krt_scoring.expectations.result import (
    Result,
    between,
    counted,
    unmeasured,
)
from krt_scoring.expectations.states import name, names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence
    from krt_scoring.inputs.fault_windows import FaultWindow

NO_STATES = "the timeline shows no state of a partition"


def of_fault(
    expect: Mapping[str, Any], window: FaultWindow, end: int, evidence: Evidence
) -> Iterator[Result]:
    """Yield the results of the claims on leaders from a fault's injection to ``end``."""
    start = window.injected_at or 0
    states, missed = evidence.states, bool(evidence.states.missed(start, end))
    if bounds := expect.get("offlinePartitions"):
        found = states.leaderless(start, end)
        yield _counted(
            f"{window.name}.offlinePartitions",
            bounds,
            len(found),
            "partitions without a leader",
            evidence,
            at_least=bool(states.hidden(start, end) - found),
            where=names(found),
        )
    moves = [
        (place, before, after)
        for place, before, after in states.elections(start, end)
        if after.at > start
    ]
    if bounds := expect.get("leaderChanges"):
        yield _counted(
            f"{window.name}.leaderChanges",
            bounds,
            len(moves),
            "leaders moved",
            evidence,
            at_least=missed,
            where=names({place for place, _, _ in moves}),
        )
    if bounds := expect.get("unrelatedLeaderChanges"):
        unforced = [
            (place, before.leader)
            for place, before, after in moves
            if not _hit(before.leader, after.at, evidence)
        ]
        where = ", ".join(f"{name(place)} from {leader}" for place, leader in unforced[:8])
        yield _counted(
            f"{window.name}.unrelatedLeaderChanges",
            bounds,
            len(unforced),
            "leaders moved that no fault had hit",
            evidence,
            at_least=missed,
            where=where,
        )


def at_end(expect: Mapping[str, Any], evidence: Evidence) -> Iterator[Result]:
    """Yield the results of ``inIsr`` and ``nonPreferredLeaders``."""
    for item in expect.get("inIsr") or ():
        held = {
            place
            for place, seen in evidence.states.known.items()
            if int(item["broker"]) in seen[-1].isr
        }
        claim, what = f"inIsr {item['broker']}", "partitions with it in the ISR"
        yield _counted(claim, item, len(held), what, evidence, where=names(held))
    bounds = expect.get("nonPreferredLeaders")
    if not bounds:
        return
    found = {
        place
        for place, seen in evidence.states.known.items()
        if (replicas := evidence.states.replicas_at(place, evidence.end))
        and seen[-1].leader != replicas[0]
    }
    what = "partitions not led by their preferred replica"
    yield _counted("nonPreferredLeaders", bounds, len(found), what, evidence, where=names(found))


def _hit(broker: int, at: int, evidence: Evidence) -> bool:
    """Whether a fault had hit this broker and was not recovered from at that time."""
    member = member_of(broker)
    return any(
        member in window.members and window.meets(at, at)
        for window in evidence.windows
        if window.injected_at is not None
    )


def _counted(  # noqa: PLR0913 (as `counted`, which it guards)
    claim: str,
    bounds: Mapping[str, Any],
    value: int,
    what: str,
    evidence: Evidence,
    *,
    at_least: bool = False,
    where: str = "",
) -> Result:
    if not evidence.states.known:
        return unmeasured(claim, between(bounds, what), NO_STATES)
    return counted(claim, bounds, value, what, at_least=at_least, where=where)
