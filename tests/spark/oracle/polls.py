"""The rules of what a member is given: order of polls, repetitions, order of keys, unseen records.

docs/concepts/anomalies.md, the table and "Places"; allowances.md, "Why consequences are bounded".
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.spark.oracle import commits
from tests.spark.oracle.elections import acked_place, elections, first_offset_cut
from tests.spark.oracle.history import CLOCKS, Finding, identity_of, place_of
from tests.spark.oracle.ownership import (
    excused,
    follows_reset,
    incarnations,
    of_incarnation,
    owner_of,
    ownerships,
    passed_over,
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


def key_order(history: History, group: Group, partition: int) -> list[Finding]:
    """Find neighbours among the first deliveries of a key against the order of a log.

    The settled log holds what lies where it was delivered from. An earlier one held what is gone
    from there, and with it what lies below the first offset that any election can have cut.
    """
    if not history.read(partition):
        return []
    owned = ownerships(history, group, partition)
    cuts = [first_offset_cut(history, item) for item in elections(history, partition)]
    first: dict[tuple[object, ...], Row] = {}
    for row in history.deliveries:
        mine = row["group"] == group.name and row["partition"] == partition
        if not mine or row["outcome"] != "ok":
            continue
        here = history.log_at(place_of(row))
        gone = identity_of(row) is not None and identity_of(row) not in map(identity_of, here)
        key = sent_key(history, row) if gone else next((one["key"] for one in here), None)
        if key is None:
            continue
        name = (key, gone, row["offset"], identity_of(row) if gone else None)
        if name not in first or order_of(owned, row) < order_of(owned, first[name]):
            first[name] = row
    found: list[Finding] = []
    for key in sorted({str(name[0]) for name in first}):
        of_key = [(name, row) for name, row in first.items() if name[0] == key]
        of_key.sort(key=lambda item: order_of(owned, item[1]))
        settled = [(row, bool(name[1])) for name, row in of_key if not name[1]]
        earlier = [
            (row, bool(name[1]))
            for name, row in of_key
            if name[1] or row["offset"] < min(cuts, default=row["offset"] + 1)
        ]
        for log in (settled, earlier):
            for (one, one_gone), (other, other_gone) in pairwise(log):
                if other["offset"] >= one["offset"]:
                    continue
                if log is earlier and not (one_gone or other_gone):
                    continue
                span = other["offset"], one["offset"]
                rule = step_rule(history, group, (one, other), span)
                found.append(Finding("key-order", rule, partition, group.name))
    return found


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
        place = owed_place(history, record, group)
        if place is None or not history.drained(group, place[0]):
            continue
        if delivered_to(history, record, group):
            continue
        rule = None
        for truncation in truncations(history, group, place[0]):
            if rule is None and passed_over(truncation, place[1]):
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
