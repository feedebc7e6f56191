"""The rules of what a member is given: order of polls, repetitions, order of keys, unseen records.

docs/concepts/anomalies.md, the table and "Places"; allowances.md, "Why consequences are bounded".
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.spark.oracle import commits
from tests.spark.oracle.elections import acked_place, elections, first_offset_cut, may_cut
from tests.spark.oracle.history import Finding, place_of
from tests.spark.oracle.ownership import (
    both_after_reset,
    excused,
    incarnations,
    of_incarnation,
    owner_of,
    ownerships,
    truncations,
)

if TYPE_CHECKING:
    from tests.spark.oracle.history import Group, History, Record, Row
    from tests.spark.oracle.ownership import Ownership

BREAKS = ("assigned", "revoked", "lost", "seek", "reset", "closed")
"""What ends a sequence of deliveries of a partition."""


def visible_offsets(history: History, group: Group, partition: int) -> set[int]:
    """Return the offsets that have an index: visible in the log, or delivered."""
    here = [row for row in history.log if row["partition"] == partition]
    offsets = {row["offset"] for row in here if history.visible(row, group)}
    hidden = {row["offset"] for row in here} - offsets
    alike = {item.name for item in history.groups if item.committed_only == group.committed_only}
    delivered = {
        row["offset"]
        for row in history.deliveries
        if row["partition"] == partition and row["outcome"] == "ok"
        if row["offset"] not in hidden or row["group"] in alike
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
            name, touched = "poll-skip", passed
        elif other["offset"] <= one["offset"]:
            name, touched = "nonmonotonic-poll", [other["offset"]]
        else:
            continue
        rule = None
        if not inside:
            rule = step_rule(history, group, (one, other), touched)
        found.append(Finding(inside + name, rule, partition, group.name))
    return found


def step_rule(
    history: History, group: Group, step: tuple[Row, Row], touched: list[int]
) -> str | None:
    """Return the rule under which a step follows from a truncation."""
    one, other = step
    for truncation in truncations(history, group, other["partition"]):
        if other["delivered_at"] <= truncation.election.at:
            continue
        if both_after_reset(truncation, one, other):
            continue
        if all(excused(truncation, offset) for offset in touched):
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
            rule = step_rule(history, group, (before[-1], row), [row["offset"]])
        owner = owner_of(owned, row)
        if rule is None and owner is not None and owner_of(owned, before[-1]) is not owner:
            rule = commits.offsets_rule(history, group, partition, owner)
        found.append(Finding("duplicate-delivery", rule, partition, group.name))
    return found


def key_of(record: Record) -> str | None:
    """Return the key of a record."""
    for row in [record.send, *record.log]:
        if row is not None and row["key"] is not None:
            return str(row["key"])
    return None


def key_order(history: History, group: Group, partition: int) -> list[Finding]:
    """Find first deliveries of a key's records in another order than the log's."""
    owned = ownerships(history, group, partition)
    first: list[tuple[Record, Row]] = []
    for record in history.records:
        rows = [
            row for row in record.ok if row["group"] == group.name and row["partition"] == partition
        ]
        if rows and key_of(record) is not None:
            first.append((record, min(rows, key=lambda row: order_of(owned, row))))
    first.sort(key=lambda item: order_of(owned, item[1]))
    found: list[Finding] = []
    for key in sorted({str(key_of(record)) for record, _ in first}):
        of_key = [item for item in first if key_of(item[0]) == key]
        for (one, one_row), (other, other_row) in itertools.pairwise(of_key):
            if other_row["offset"] >= one_row["offset"]:
                continue
            if not were_together(history, one, other):
                continue
            rule = step_rule(history, group, (one_row, other_row), [other_row["offset"]])
            found.append(Finding("key-order", rule, partition, group.name))
    return found


def order_of(owned: list[Ownership], row: Row) -> tuple[int, int, str, int]:
    """Return where a delivery stands in the order of ownerships, and within one."""
    owner = owner_of(owned, row)
    number = owned.index(owner) if owner is not None else -1
    start = owner.start if owner is not None else 0
    return number, start, row["incarnation"], row["event_seq"]


def were_together(history: History, one: Record, other: Record) -> bool:
    """Whether one log held both records: not if one took the place of the other after a cut."""
    if bool(one.log) == bool(other.log):
        return True
    gone, there = (one, other) if other.log else (other, one)
    was, lies = gone.ok[0], there.log[0]
    return not any(
        may_cut(history, election, was["offset"], was["delivered_at"])
        and lies["offset"] >= first_offset_cut(history, election)
        for election in elections(history, was["partition"])
    )


def unseen(history: History, group: Group) -> list[Finding]:
    """Find what a group that drained was owed and never given."""
    found: list[Finding] = []
    for record in history.records:
        place = owed_place(history, record, group)
        if place is None or not history.drained(group, place[0]):
            continue
        if delivered_to(history, record, group):
            continue
        rule = None
        for truncation in truncations(history, group, place[0]):
            reset = truncation.reset
            passed_over = reset is None or place[1] < reset["offset"]
            if excused(truncation, place[1]) and passed_over:
                rule = truncation.rule
        if rule is None:
            rule = commits.undecided_rule(history, record, group)
        found.append(Finding("unseen", rule, place[0], group.name, record.identity[1]))
    return found


def owed_place(history: History, record: Record, group: Group) -> tuple[int, int] | None:
    """Return where a record lies that a group is owed; None where it is owed none."""
    if record.outcome == "failed" or history.nobody_sent(record):
        return None
    rows = [row for row in record.present if history.visible(row, group)]
    places = [place_of(row) for row in rows]
    if not places and not record.log:
        places = [place_of(row) for row in record.ok if not history.read(row["partition"])]
        acked = acked_place(history, record)
        if not places and acked is not None and not history.read(acked[0]):
            return None
    return next((place for place in sorted(places) if history.owed(place, group)), None)


def delivered_to(history: History, record: Record, group: Group) -> bool:
    """Whether a record was delivered to a group from its own place."""
    return any(row["group"] == group.name and history.delivers(row) for row in record.ok)
