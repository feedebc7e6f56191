"""Who owned a partition, from when until when, and what a truncation excuses of a group.

docs/reference/allowances.md: "Why consequences are bounded", "A consumer that was frozen" and
"Clocks".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.spark.oracle.elections import elections, first_offset_cut, permits_any_loss
from tests.spark.oracle.history import CLOCKS

if TYPE_CHECKING:
    from tests.spark.oracle.elections import Election
    from tests.spark.oracle.history import Group, History, Row

FOREVER = float("inf")


@dataclass
class Ownership:
    """One member's ownership of one partition."""

    group: str
    partition: int
    incarnation: str
    first_seq: int
    last_seq: float
    """The counter of what ended it; what the member did later is still of this ownership."""
    start: int
    offset: int | None
    generation: int | None
    end: float = FOREVER


def of_incarnation(history: History, group: Group, incarnation: str) -> list[Row]:
    """Return a member's events and deliveries in its own order."""
    rows = [
        row
        for row in [*history.events, *history.deliveries]
        if row["incarnation"] == incarnation and row["group"] == group.name
    ]
    return sorted(rows, key=lambda row: row["event_seq"])


def incarnations(history: History, group: Group) -> list[str]:
    """Return the members of a group."""
    rows = [*history.events, *history.deliveries]
    return sorted({row["incarnation"] for row in rows if row["group"] == group.name})


def time_of(row: Row) -> int:
    """Return when an event or a delivery was."""
    return int(row["at"] if "event" in row else row["delivered_at"])


def ownerships(history: History, group: Group, partition: int) -> list[Ownership]:
    """Return who owned a partition in a group, in the order of the group."""
    found: list[Ownership] = []
    for incarnation in incarnations(history, group):
        current: Ownership | None = None
        for row in of_incarnation(history, group, incarnation):
            event = row.get("event")
            if event == "assigned" and row["partition"] == partition:
                if current is not None:
                    current.end = min(current.end, row["at"])
                    current.last_seq = row["event_seq"]
                current = Ownership(
                    group=group.name,
                    partition=partition,
                    incarnation=incarnation,
                    first_seq=row["event_seq"],
                    last_seq=FOREVER,
                    start=row["at"],
                    offset=row["offset"],
                    generation=row["generation"],
                )
                found.append(current)
            here = row.get("partition") in (partition, None)
            ends = event == "closed" or (event in ("revoked", "lost") and here)
            if ends and current is not None:
                current.end = min(current.end, row["at"])
        end_by_pod(history, group, incarnation, found)
    return sorted(found, key=lambda item: (item.start, item.incarnation, item.first_seq))


def end_by_pod(history: History, group: Group, incarnation: str, found: list[Ownership]) -> None:
    """End the ownerships of a member that died or was frozen for its session."""
    for owned in found:
        if owned.incarnation != incarnation:
            continue
        for item in history.timeline:
            if item.detail.get("uid") != incarnation or item.at < owned.start:
                continue
            if item.source == "pod" and item.event in ("exited", "deleted"):
                owned.end = min(owned.end, item.at)
            if item.source == "member" and item.event == "frozen" and item.at < owned.end:
                expires = item.at + group.session - group.heartbeat
                thaws = [
                    other.at
                    for other in history.timeline
                    if other.event == "thawed"
                    and other.detail.get("uid") == incarnation
                    and other.at >= item.at
                ]
                thaw = min(thaws, default=FOREVER)
                if thaw >= expires and not goes_on(history, group, owned, thaw):
                    owned.end = min(owned.end, expires)


def goes_on(history: History, group: Group, owned: Ownership, thaw: float) -> bool:
    """Whether a member goes on as an owner for longer than it needs to hear that it is none."""
    return any(time_of(row) > thaw + group.handover for row in acts(history, group, owned))


def acts(history: History, group: Group, owned: Ownership) -> list[Row]:
    """Return what a member delivered and committed in an ownership."""
    return [
        row
        for row in of_incarnation(history, group, owned.incarnation)
        if owned.first_seq < row["event_seq"] < owned.last_seq
        and row["partition"] == owned.partition
        and (row["event"] == "committed" if "event" in row else row["outcome"] == "ok")
    ]


def owner_of(owned: list[Ownership], row: Row) -> Ownership | None:
    """Return the ownership that a delivery or a commit was made in."""
    return next(
        (
            item
            for item in owned
            if item.incarnation == row["incarnation"]
            and item.first_seq < row["event_seq"] < item.last_seq
        ),
        None,
    )


def newer(one: Ownership, other: Ownership) -> Ownership:
    """Return the later of two ownerships."""
    generations = one.generation, other.generation
    if None not in generations and one.generation != other.generation:
        return max(one, other, key=lambda item: item.generation or 0)
    return max(one, other, key=lambda item: (item.start, item.first_seq))


@dataclass
class Truncation:
    """A permitted cut of a partition, and how far it affects one group."""

    election: Election
    rule: str
    cut: int
    reach: int
    """The highest position that the group had: above it nothing is a consequence."""
    reset: Row | None
    """The recorded reset that ends it."""


def truncations(history: History, group: Group, partition: int) -> list[Truncation]:
    """Return the permitted cuts that affect a group."""
    found: list[Truncation] = []
    for election in elections(history, partition):
        rule = permits_any_loss(history, election)
        if rule is None:
            continue
        resets = [
            row
            for row in history.events
            if row["event"] == "reset"
            and row["group"] == group.name
            and row["partition"] == partition
            and row["at"] > election.at
        ]
        reset = min(resets, key=lambda row: row["at"], default=None)
        cut = first_offset_cut(history, election)
        reach = position(history, group, partition, election.at)
        if reach > cut:
            name = "after-" + rule
            found.append(Truncation(election, name, cut, reach, reset))
    return found


def position(history: History, group: Group, partition: int, at: int) -> int:
    """Return the highest position that a group shows until 1 s after an election."""
    highest = 0
    for incarnation in incarnations(history, group):
        for row in of_incarnation(history, group, incarnation):
            if row["partition"] != partition:
                continue
            if row.get("event") == "reset" and row["at"] > at:
                break
            if time_of(row) > at + CLOCKS or row["offset"] is None:
                continue
            if "event" not in row and row["outcome"] == "ok":
                highest = max(highest, row["offset"] + 1)
            if row.get("event") in ("assigned", "seek", "committed"):
                highest = max(highest, row["offset"])
    return highest


def excused(truncation: Truncation, offset: int) -> bool:
    """Whether a truncation reaches an offset."""
    return truncation.cut <= offset < truncation.reach


def both_after_reset(truncation: Truncation, one: Row, other: Row) -> bool:
    """Whether two things happened after the reset that ended a truncation."""
    reset = truncation.reset
    return reset is not None and min(time_of(one), time_of(other)) > reset["at"]
