"""Who owned a partition, from when until when, and what a truncation excuses of a group.

docs/reference/allowances.md: "Why consequences are bounded", "A consumer that was frozen" and
"Clocks".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.spark.oracle.elections import (
    elections,
    first_offset_cut,
    freezes,
    permits_any_loss,
)
from tests.spark.oracle.history import CLOCKS, identity_of, place_of

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
    lapse: float = FOREVER
    """When the group's session for it ended because it was frozen."""
    tolerated: float = FOREVER
    """Until when it may go on after that, not knowing."""


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
                end(current, row)
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
            here = row["partition"] == partition
            whole = row["partition"] is None
            if (event in ("revoked", "lost", "closed") and here) or (
                event in ("lost", "closed") and whole
            ):
                end(current, row)
                current = None
        end_by_pod(history, group, incarnation, found)
    return sorted(found, key=lambda item: (item.start, item.incarnation, item.first_seq))


def end(current: Ownership | None, row: Row) -> None:
    """End an ownership with an event of its member."""
    if current is not None:
        current.end = min(current.end, row["at"])
        current.last_seq = row["event_seq"]


def end_by_pod(history: History, group: Group, incarnation: str, found: list[Ownership]) -> None:
    """End the ownerships of a member that died, or whose session ended while it was frozen."""
    for owned in found:
        if owned.incarnation != incarnation:
            continue
        deaths = [
            item.at
            for item in history.timeline
            if item.detail.get("uid") == incarnation
            and item.source == "pod"
            and item.event in ("exited", "deleted")
        ]
        owned.end = min([owned.end, *deaths])
        for begin, thaw in freezes(history, incarnation):
            session = group.session - group.heartbeat
            if owned.start <= begin < owned.end and thaw - begin >= session:
                owned.lapse = begin + session
                owned.tolerated = thaw + group.handover
                break


def last_act(history: History, group: Group, owned: Ownership) -> int:
    """Return when a member last delivered or committed anything in an ownership."""
    return max((time_of(row) for row in acts(history, group, owned)), default=0)


def acts(history: History, group: Group, owned: Ownership) -> list[Row]:
    """Return what a member delivered and committed in an ownership."""
    return [
        row
        for row in of_incarnation(history, group, owned.incarnation)
        if owned.first_seq < row["event_seq"] < owned.last_seq
        and row["partition"] == owned.partition
        and (row["event"] == "committed" if "event" in row else given(group, row))
    ]


def given(group: Group, row: Row) -> bool:
    """Whether a delivery reached the application: not what an aborted transaction took back."""
    return not (group.transactional and row["outcome"] == "failed")


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


def in_order(one: Ownership, other: Ownership) -> tuple[Ownership, Ownership]:
    """Return the older and the newer of two ownerships.

    Generations count again from 1 where the group's state was lost, so they decide only between
    ownerships that overlap.
    """
    older, newer = sorted((one, other), key=lambda item: (item.start, item.incarnation))
    if older.generation is None or newer.generation is None or older.end <= newer.start:
        return older, newer
    return (newer, older) if newer.generation < older.generation else (older, newer)


@dataclass
class Truncation:
    """A permitted cut of a partition, and how far it affects one group."""

    election: Election
    rule: str
    cut: int
    reach: int
    """The highest position that the group had: above it nothing is a consequence."""
    resets: list[Row]
    """Each member's first recorded reset since: it ends it."""


def truncations(history: History, group: Group, partition: int) -> list[Truncation]:
    """Return the permitted cuts that affect a group."""
    found: list[Truncation] = []
    for election in elections(history, partition):
        rule = permits_any_loss(history, election)
        if rule is None:
            continue
        resets = first_resets(history, group, partition, election.at)
        cut = first_offset_cut(history, election)
        reach = max(
            position(history, group, partition, election.at), gone(history, group, partition)
        )
        if reach > cut:
            found.append(Truncation(election, "after-" + rule, cut, reach, resets))
    return found


def first_resets(history: History, group: Group, partition: int, at: int) -> list[Row]:
    """Return each member's first reset on a partition since an election."""
    found: list[Row] = []
    for incarnation in incarnations(history, group):
        resets = [
            row
            for row in of_incarnation(history, group, incarnation)
            if row.get("event") == "reset"
            and row["partition"] == partition
            and row["offset"] is not None
            and row["at"] + CLOCKS >= at
        ]
        found += resets[:1]
    return found


def gone(history: History, group: Group, partition: int) -> int:
    """Return above which offset the group was given nothing that is gone from there."""
    return max(
        (
            row["offset"] + 1
            for row in history.deliveries
            if row["group"] == group.name
            and row["partition"] == partition
            and row["outcome"] == "ok"
            and identity_of(row) is not None
            and history.read(partition)
            and row["offset"] >= history.log_start(partition)
            and identity_of(row) not in map(identity_of, history.log_at(place_of(row)))
        ),
        default=0,
    )


def position(history: History, group: Group, partition: int, at: int) -> int:
    """Return the highest position that a group shows until 1 s after an election.

    Of a member that is reset later, until its reset.
    """
    highest = 0
    resets = {
        row["incarnation"]: row["event_seq"] for row in first_resets(history, group, partition, at)
    }
    for incarnation in incarnations(history, group):
        for row in of_incarnation(history, group, incarnation):
            if row["partition"] != partition or row["offset"] is None:
                continue
            before_reset = row["event_seq"] < resets.get(incarnation, 0)
            if time_of(row) > at + CLOCKS and not before_reset:
                continue
            if "event" not in row:
                highest = max(highest, row["offset"] + 1 if row["outcome"] == "ok" else 0)
            elif row["event"] != "reset":
                highest = max(highest, row["offset"])
    return highest


def excused(truncation: Truncation, offset: int) -> bool:
    """Whether a truncation reaches an offset."""
    return truncation.cut <= offset < truncation.reach


def passed_over(truncation: Truncation, offset: int) -> bool:
    """Whether the group may have gone by an offset: not at or above where a reset led."""
    led = min((reset["offset"] for reset in truncation.resets), default=truncation.reach)
    return excused(truncation, offset) and offset < led


def follows_reset(truncation: Truncation, row: Row) -> bool:
    """Whether a member had been reset before a delivery."""
    return any(
        reset["incarnation"] == row["incarnation"] and reset["event_seq"] < row["event_seq"]
        for reset in truncation.resets
    )
