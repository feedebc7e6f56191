"""From the rows around some places to the sites corruptions are made from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from krt_contract.outcomes import DeliveryOutcome, LogState, SendOutcome
from krt_scoring.allowances.settings import of_identity
from krt_scoring.selftest.baseline import EDGE, Record, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.faults import FaultWindow
    from krt_scoring.selftest.patch import Place, Row, Sent

SMALLEST = 2 * EDGE + 1
"""Records of a site below which none of them may be changed."""

REACH = 8
"""Offsets shown on either side of a place: a site is small, and most have a whole one."""


@dataclass(frozen=True)
class Window:
    """A range of offsets looked at, both ends included; ``last`` where the log ends with it."""

    topic: str
    partition: int
    low: int
    high: int
    last: bool


@dataclass(frozen=True)
class Rows:
    """The evidence around the places, as read.

    Attributes:
        log, consume: rows at the places.
        produce: the sends of the identities the log holds there.
        marks: events after which a member's next delivery may be anywhere.
        quiet: identities about which nothing is known but what lies at their place.
        dirty: places some finding is about.
    """

    log: Sequence[Row]
    consume: Sequence[Row]
    produce: Sequence[Row]
    marks: Sequence[Row]
    quiet: frozenset[Sent]
    dirty: frozenset[Place]


@dataclass(frozen=True)
class Conditions:
    """What decides whether a record's fate could depend on more than its surroundings."""

    facts: Facts
    faults: tuple[FaultWindow, ...]
    cuts: tuple[Truncation, ...]

    def undisturbed(self, send: Row, offset: int) -> bool:
        """Whether neither a fault nor an election bears on a record."""
        if any(fault.begin <= send["done_at"] < fault.end for fault in self.faults):
            return False
        tp = self.facts.places.tp(send["topic"], send["partition"])
        acks = of_identity(self.facts.run, send["producer"]).acks
        return all(_above(cut, acks, send, offset) for cut in self.cuts if cut.tp == tp)


def _above(cut: Truncation, acks: str, send: Row, offset: int) -> bool:
    """Whether a cut permits nothing at an offset, whatever is changed there."""
    if abs(offset - cut.offset) <= 2 * REACH:
        return False
    if cut.offset > offset:
        return True
    return cut.rule is None and (acks == "all" or send["done_at"] > cut.latest)


@dataclass(frozen=True)
class _Rows:
    """The rows by what they are looked up by."""

    held: dict[Place, list[Row]] = field(default_factory=lambda: defaultdict(list))
    read: dict[Place, list[Row]] = field(default_factory=lambda: defaultdict(list))
    sends: dict[Sent, list[Row]] = field(default_factory=lambda: defaultdict(list))
    marks: dict[tuple[str, str, int], list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, rows: Rows) -> _Rows:
        found = cls()
        for row in rows.log:
            found.held[_place(row)].append(row)
        for row in rows.consume:
            found.read[_place(row)].append(row)
        for row in rows.produce:
            found.sends[_sent(row)].append(row)
        for row in rows.marks:
            found.marks[row["incarnation"], row["topic"], row["partition"]].append(row["event_seq"])
        return found


def build(windows: Iterable[Window], rows: Rows, conditions: Conditions) -> tuple[Site, ...]:
    """Return the sites the windows hold, at most one each."""
    known = _Rows.of(rows)
    found = []
    for window in windows:
        stretches: list[list[Record]] = [[]]
        for offset in range(window.low, window.high + 1):
            place = window.topic, window.partition, offset
            if place not in rows.dirty and not known.held[place] and not known.read[place]:
                # A marker, or nothing.
                continue
            record = None if place in rows.dirty else _record(place, known, rows.quiet, conditions)
            if record is None:
                stretches.append([])
            else:
                stretches[-1].append(record)
        last = stretches[-1]
        longest = last if window.last and len(last) >= SMALLEST else max(stretches, key=len)
        site = Site(tuple(longest), last=window.last and longest is last)
        if len(longest) >= SMALLEST and _in_order(site, known.marks):
            found.append(site)
    return tuple(found)


def _place(row: Row) -> Place:
    return row["topic"], row["partition"], row["offset"]


def _sent(row: Row) -> Sent:
    return row["producer"], row["producer_incarnation"], row["seq"]


def _record(
    place: Place, known: _Rows, quiet: frozenset[Sent], conditions: Conditions
) -> Record | None:
    """Return the record of a place where it is in order, else None."""
    held = known.held[place]
    if len(held) != 1 or held[0]["seq"] is None or _sent(held[0]) not in quiet:
        return None
    log, sends = held[0], known.sends[_sent(held[0])]
    if len(sends) != 1 or not _told(sends[0], log):
        return None
    if not conditions.undisturbed(sends[0], log["offset"]):
        return None
    got: dict[str, Row] = {}
    for row in known.read[place]:
        whole = (
            row["outcome"] == DeliveryOutcome.OK and row["checksum_ok"] and _sent(row) == _sent(log)
        )
        if not whole or row["group"] in got:
            return None
        got[row["group"]] = row
    if set(got) != set(_owed(log, conditions.facts)):
        return None
    return Record(sends[0], log, {group: got[group] for group in sorted(got)})


def _told(send: Row, log: Row) -> bool:
    """Whether the ledger tells of a record what the log shows."""
    outcome = SendOutcome.FAILED if log["state"] == LogState.ABORTED else SendOutcome.ACKED
    return (
        send["outcome"] == outcome
        and bool(log["checksum_ok"])
        and (send["topic"], send["partition"]) == (log["topic"], log["partition"])
        and send["offset"] in (None, log["offset"])
    )


def _owed(log: Row, facts: Facts) -> Iterator[str]:
    """Yield the groups that must have got a record of the log."""
    tp = facts.places.tp(log["topic"], log["partition"])
    for group in facts.groups:
        start = facts.starts.get((group.index, tp))
        begun = start is not None and start.offset is not None and start.offset <= log["offset"]
        if begun and (log["state"] != LogState.ABORTED or not group.committed_only):
            yield group.name


def _in_order(site: Site, marks: Mapping[tuple[str, str, int], Sequence[int]]) -> bool:
    topic, partition = site.place
    for group in {name for record in site.records for name in record.got}:
        for before, row in pairwise(site.read(group)):
            if (
                before["incarnation"] != row["incarnation"]
                or before["event_seq"] >= row["event_seq"]
            ):
                return False
            between = marks.get((row["incarnation"], topic, partition), ())
            if any(before["event_seq"] < n < row["event_seq"] for n in between):
                return False
    return True
