"""The rules of commits and of who owns a partition.

docs/concepts/anomalies.md, the table and "Places"; allowances.md, "A consumer that was frozen" and
"Clocks".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.oracle.elections import elections, permits_any_loss
from tests.spark.oracle.history import CLOCKS, SECOND, Finding
from tests.spark.oracle.ownership import (
    FOREVER,
    follows_reset,
    in_order,
    incarnations,
    last_act,
    of_incarnation,
    owner_of,
    ownerships,
    passed_over,
    truncations,
)
from tests.spark.oracle.presence import lies_at, owed

if TYPE_CHECKING:
    from tests.spark.oracle.history import Group, History, Record, Row
    from tests.spark.oracle.ownership import Ownership


def committed(history: History, group: Group, partition: int) -> list[Row]:
    """Return the commits of a group that are known to have succeeded."""
    return [
        row
        for row in history.events
        if row["event"] == "committed"
        and row["group"] == group.name
        and row["partition"] == partition
        and row["offset"] is not None
    ]


def last_commit(history: History, group: Group, partition: int, owner: Ownership) -> Row | None:
    """Return the last commit before an ownership."""
    before: list[Row] = []
    for row in committed(history, group, partition):
        if row["incarnation"] == owner.incarnation:
            earlier = row["event_seq"] < owner.first_seq
        elif row["generation"] is not None and owner.generation is not None:
            earlier = row["generation"] < owner.generation
        else:
            earlier = row["at"] <= owner.start
        if earlier:
            before.append(row)
    # Where the generation of any is not known, times alone decide.
    by_time = any(row["generation"] is None for row in before)

    def order(row: Row) -> tuple[int, int, int, str]:
        generation = 0 if by_time else row["generation"]
        return generation, row["at"], row["event_seq"], row["incarnation"]

    return max(before, key=order, default=None)


def handed_over(
    history: History, group: Group, owned: list[Ownership], one: Row, other: Row
) -> Ownership | None:
    """Return the newer owner of two that delivered the same, if the older one's time was over."""
    first, second = owner_of(owned, one), owner_of(owned, other)
    if first is None or second is None or first is second:
        return None
    older, newer = (second, first) if second.start < first.start else (first, second)
    limit = newer.start + CLOCKS
    acted = last_act(history, group, older)
    lapsed = older.lapse <= limit and acted <= older.tolerated
    return newer if older.end <= limit or acted <= limit or lapsed else None


def in_window(history: History, group: Group, owned: list[Ownership], one: Row, other: Row) -> bool:
    """Whether a repetition is of what a member had not committed when its ownership ended."""
    newer = handed_over(history, group, owned, one, other)
    if newer is None or group.transactional:
        return False
    last = last_commit(history, group, one["partition"], newer)
    return last is None or one["offset"] >= last["offset"]


def offsets_rule(history: History, group: Group, partition: int, owner: Ownership) -> str | None:
    """Return the rule by which an owner resumed from commits that were lost."""
    last = last_commit(history, group, partition, owner)
    if last is None:
        return None
    for event in history.timeline:
        if event.subject != f"__consumer_offsets-{history.case.offsets_partition(group.name)}":
            continue
        for election in elections(history, -1, event.subject):
            if permits_any_loss(history, election, event.subject) is None:
                continue
            if last["at"] <= election.at + CLOCKS and election.at <= owner.start:
                return "offsets-partition-loss"
    return None


def undecided_rule(history: History, record: Record, group: Group) -> str | None:
    """Return the rule by which the output of input may be lost, if nothing decides about it."""
    if not group.transactional:
        return None
    rules = [
        permits_any_loss(history, election)
        for partition in history.partitions
        if history.case.topic_of(partition) == group.output
        for election in elections(history, partition)
    ]
    rule = min((rule for rule in rules if rule), default=None)
    for row in record.deliveries:
        if row["group"] == group.name and row["outcome"] == "unknown":
            return f"after-{rule}" if rule else None
    return None


def was_handed(history: History, record: Record, group: Group) -> bool:
    """Whether a group was given a record from its own place, whatever became of the poll."""
    for row in record.deliveries:
        if row["group"] != group.name:
            continue
        if row["outcome"] == "ok" and not history.delivers(row):
            continue
        if row["outcome"] != "failed" or not group.transactional:
            return True
    return False


def commit_ahead(history: History, group: Group, partition: int) -> list[Finding]:
    """Find commits above a visible, owed record that the group was never given."""
    missed: list[int] = []
    for record in history.records:
        place = lies_at(history, record)
        if place is None or place[0] != partition or not owed(history, record, group):
            continue
        if not was_handed(history, record, group):
            missed.append(place[1])
    found: list[Finding] = []
    for row in committed(history, group, partition):
        below = [offset for offset in missed if offset < row["offset"]]
        if not below:
            continue
        rules = [excuse(history, group, partition, offset) for offset in below]
        rule = rules[below.index(min(below))] if None not in rules else None
        found.append(Finding("commit-ahead", rule, partition, group.name))
    return found


def excuse(history: History, group: Group, partition: int, offset: int) -> str | None:
    """Return the rule by which a group may never be given a record at an offset."""
    for truncation in truncations(history, group, partition):
        if passed_over(truncation, offset):
            return truncation.rule
    return None


def commit_rewind(history: History, group: Group, partition: int) -> list[Finding]:
    """Find ownerships that begin below the last commit."""
    found: list[Finding] = []
    owned = ownerships(history, group, partition)
    for owner in owned:
        last = last_commit(history, group, partition, owner)
        if last is None:
            continue
        below = [offset for offset in begins(history, group, owner) if offset < last["offset"]]
        if not below:
            continue
        rule = rewind_rule(history, group, owner, last, min(below))
        rule = rule or offsets_rule(history, group, partition, owner)
        found.append(Finding("commit-rewind", rule, partition, group.name))
    return found


def rewind_rule(
    history: History, group: Group, owner: Ownership, last: Row, start: int
) -> str | None:
    """Return the rule under which an ownership may begin below a commit."""
    for truncation in truncations(history, group, owner.partition):
        anew = [
            row["at"]
            for row in committed(history, group, owner.partition)
            if follows_reset(truncation, row)
        ]
        begun = truncation.election.at <= owner.start <= min(anew, default=owner.start)
        above = truncation.cut < last["offset"] <= truncation.reach
        if begun and above and start >= truncation.cut:
            return truncation.rule
    return None


def begins(history: History, group: Group, owner: Ownership) -> list[int]:
    """Return where an ownership begins: as it was assigned, and by its first delivery."""
    found = [owner.offset] if owner.offset is not None else []
    for row in of_incarnation(history, group, owner.incarnation):
        if not owner.first_seq < row["event_seq"] < owner.last_seq:
            continue
        if row["partition"] != owner.partition:
            continue
        if row.get("event") == "reset":
            break
        if "event" not in row and row["outcome"] == "ok":
            return [*found, row["offset"]]
    return found


def double_ownership(history: History, group: Group, partition: int) -> list[Finding]:
    """Find pairs of members that both go on as owners of a partition."""
    found: list[Finding] = []
    owned = ownerships(history, group, partition)
    for index, one in enumerate(owned):
        for other in owned[index + 1 :]:
            if one.incarnation == other.incarnation:
                continue
            older, newer = in_order(one, other)
            deadline = newer.start + group.handover + CLOCKS
            acted = [last_act(history, group, item) for item in (older, newer)]
            lapsed = older.lapse <= deadline and acted[0] <= older.tolerated
            if older.end > deadline and min(acted) > deadline and not lapsed:
                found.append(Finding("double-ownership", None, partition, group.name))
    return found


ROUND = 3 * SECOND
"""Within which members hear of one rebalance: a heartbeat."""


def unexpected_rebalance(history: History, group: Group) -> list[Finding]:
    """Find rebalances of a group that no join, leave or death explains."""
    owned = [item for number in history.partitions for item in ownerships(history, group, number)]
    seen = [
        min(item.start for item in owned if item.generation == generation)
        for generation in {item.generation for item in owned} - {None}
    ]
    for item in sorted(owned, key=lambda item: item.start):
        if item.generation is None and all(abs(item.start - at) > ROUND for at in seen):
            seen.append(item.start)
    window = group.session + group.poll_interval
    causes = [
        at
        for incarnation in incarnations(history, group)
        for at in changes(history, group, incarnation)
    ]
    causes += [int(item.lapse) for item in owned if item.lapse != FOREVER]
    return [
        Finding("unexpected-rebalance", "reported-only", group=group.name)
        for at in seen
        if not any(at - window <= cause <= at + ROUND for cause in causes)
    ]


def changes(history: History, group: Group, incarnation: str) -> list[int]:
    """Return when a member joined its group, left it or died."""
    rows = [
        row
        for row in of_incarnation(history, group, incarnation)
        if row.get("event") in ("assigned", "revoked", "lost", "closed")
    ]
    if not rows:
        return []
    leaving = [row["event"] in ("lost", "closed") for row in rows]
    found = [min(row["at"] for row in rows)]
    found += [row["at"] for row, left in zip(rows, leaving, strict=True) if left]
    found += [row["at"] for row, left in zip(rows[1:], leaving, strict=False) if left]
    deaths = [
        item.at
        for item in history.timeline
        if item.detail.get("uid") == incarnation
        and (item.source, item.event) in {("pod", "exited"), ("pod", "deleted")}
    ]
    return found + sorted(deaths)[:1]
