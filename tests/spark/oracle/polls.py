"""The rules of what a member is given: order of polls, repetitions, order of keys, unseen records.

docs/concepts/anomalies.md, the table and "Places"; allowances.md, "Why consequences are bounded".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.spark.oracle import commits
from tests.spark.oracle.elections import elections, first_offset_cut
from tests.spark.oracle.history import CLOCKS, Finding, identity_of, place_of
from tests.spark.oracle.ownership import (
    FOREVER,
    excused,
    follows_reset,
    incarnations,
    of_incarnation,
    owner_of,
    ownerships,
    passed_over,
    truncations,
)
from tests.spark.oracle.presence import delivered_to, in_unread, lies_at, owed

if TYPE_CHECKING:
    from tests.spark.oracle.history import Group, History, Row
    from tests.spark.oracle.ownership import Ownership

BREAKS = ("assigned", "revoked", "lost", "seek", "reset", "closed")
"""What ends a sequence of deliveries of a partition."""


def visible_offsets(history: History, group: Group, partition: int) -> set[int]:
    """Return the offsets that have an index: visible in the log, or delivered."""
    here = [row for row in history.log if row["partition"] == partition]
    offsets = {row["offset"] for row in here if history.visible(row, group)}
    strict = {item.name for item in history.groups if item.committed_only}
    delivered = {
        row["offset"]
        for row in history.deliveries
        if row["partition"] == partition and row["outcome"] == "ok"
        if row["group"] in strict or not group.committed_only
    }
    return offsets | delivered


def steps(history: History, group: Group, partition: int) -> list[tuple[Row, Row]]:
    """Return the consecutive deliveries of each member on a partition that it kept."""
    found: list[tuple[Row, Row]] = []
    for incarnation in incarnations(history, group):
        last: Row | None = None
        for row in of_incarnation(history, group, incarnation):
            if "event" in row:
                if row["event"] in BREAKS and row["partition"] == partition:
                    last = None
            elif row["outcome"] == "ok" and row["partition"] == partition:
                if last is not None:
                    found.append((last, row))
                last = row
    return found


def poll_order(history: History, group: Group, partition: int) -> list[Finding]:
    """Find steps that pass over a visible offset, or that do not go up."""
    found: list[Finding] = []
    offsets = visible_offsets(history, group, partition)
    for one, other in steps(history, group, partition):
        inside = "int-" if one["poll"] == other["poll"] else ""
        passed = [item for item in offsets if one["offset"] < item < other["offset"]]
        if passed:
            name = "poll-skip"
            low, high = one["offset"] + 1, one["offset"] + len(passed)
        elif other["offset"] <= one["offset"]:
            name, low, high = "nonmonotonic-poll", other["offset"], one["offset"]
        else:
            continue
        rule = step_rule(history, group, (one, other), (low, high))
        found.append(Finding(inside + name, rule, partition, group.name))
    return found


def step_rule(
    history: History, group: Group, step: tuple[Row, Row], span: tuple[int, int]
) -> str | None:
    """Return the rule under which a step over some offsets follows from a truncation."""
    one, other = step
    for truncation in truncations(history, group, other["partition"]):
        if other["delivered_at"] + CLOCKS < truncation.election.at:
            continue
        if follows_reset(truncation, one):
            continue
        if excused(truncation, span[0]) and excused(truncation, span[1]):
            return truncation.rule
    return None


def duplicate_delivery(history: History, group: Group, partition: int) -> list[Finding]:
    """Find offsets that were delivered to the group before."""
    found: list[Finding] = []
    rows = [
        row
        for row in history.deliveries
        if row["group"] == group.name and row["partition"] == partition and row["outcome"] == "ok"
    ]
    rows.sort(key=lambda row: (row["delivered_at"], row["incarnation"], row["event_seq"]))
    owned = ownerships(history, group, partition)
    for index, row in enumerate(rows):
        before = [item for item in rows[:index] if item["offset"] == row["offset"]]
        if not before:
            continue
        rule = None
        if commits.in_window(history, group, owned, before[-1], row):
            rule = "uncommitted-window"
        if rule is None:
            rule = step_rule(history, group, (before[-1], row), (row["offset"],) * 2)
        pair = commits.handed_over(history, group, owned, before[-1], row)
        if rule is None and pair is not None:
            rule = commits.offsets_rule(history, group, partition, pair)
        found.append(Finding("duplicate-delivery", rule, partition, group.name))
    return found


@dataclass
class First:
    """The first delivery of a place, or of a record that is gone from where it was delivered."""

    key: str
    gone: bool
    row: Row


def key_order(history: History, group: Group, partition: int) -> list[Finding]:
    """Find neighbours among the first deliveries of a key against the order of a log.

    The settled log holds what lies where it was delivered from. An earlier one held what is gone
    from there, and with it what lies below the first offset that any election can have cut.
    """
    if not history.read(partition):
        return []
    cuts = [first_offset_cut(history, item) for item in elections(history, partition)]
    first = first_deliveries(history, group, partition)
    found: list[Finding] = []
    for key in sorted({item.key for item in first}):
        of_key = [item for item in first if item.key == key]
        settled = [item for item in of_key if not item.gone]
        earlier = [
            item for item in of_key if item.gone or item.row["offset"] < min(cuts, default=FOREVER)
        ]
        pairs = [*pairwise(settled)]
        pairs += [pair for pair in pairwise(earlier) if pair[0].gone or pair[1].gone]
        for one, other in pairs:
            span = other.row["offset"], one.row["offset"]
            if span[0] < span[1]:
                rule = step_rule(history, group, (one.row, other.row), span)
                found.append(Finding("key-order", rule, partition, group.name))
    return found


def first_deliveries(history: History, group: Group, partition: int) -> list[First]:
    """Return the first deliveries that have a key, in the order of ownerships."""
    owned = ownerships(history, group, partition)
    found: dict[tuple[object, ...], First] = {}
    rows = [
        row
        for row in history.deliveries
        if row["group"] == group.name and row["partition"] == partition and row["outcome"] == "ok"
    ]
    for row in sorted(rows, key=lambda row: order_of(owned, row)):
        here = history.log_at(place_of(row))
        gone = identity_of(row) is not None and identity_of(row) not in map(identity_of, here)
        key = sent_key(history, row) if gone else next((one["key"] for one in here), None)
        if key is not None:
            name = (key, gone, row["offset"], identity_of(row) if gone else None)
            found.setdefault(name, First(key, gone, row))
    return list(found.values())


def sent_key(history: History, row: Row) -> str | None:
    """Return the key that the record of a delivery was sent with."""
    return next(
        (send["key"] for send in history.sends if identity_of(send) == identity_of(row)), None
    )


def order_of(owned: list[Ownership], row: Row) -> tuple[int, int, str]:
    """Return where a delivery stands in the order of ownerships, and within one."""
    owner = owner_of(owned, row)
    return (
        owned.index(owner) if owner is not None else -1,
        row["event_seq"],
        row["incarnation"],
    )


def unseen(history: History, group: Group) -> list[Finding]:
    """Find what a group that drained was owed and never given."""
    found: list[Finding] = []
    for record in history.records:
        place = lies_at(history, record)
        if place is None or not owed(history, record, group):
            continue
        if not history.drained(group, place[0]) or delivered_to(history, record, group):
            continue
        # Of a log that was not read, another group's delivery shows what it held.
        shown = any(delivered_to(history, record, other) for other in history.groups)
        if in_unread(history, record) and not shown:
            continue
        rule = None
        for truncation in truncations(history, group, place[0]):
            if rule is None and passed_over(truncation, place[1]):
                rule = truncation.rule
        if rule is None:
            rule = commits.undecided_rule(history, record, group)
        found.append(Finding("unseen", rule, place[0], group.name, record.identity[1]))
    return found
