"""From the rows around some places to the mutation points that corruptions are made from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from krt_contract.outcomes import DeliveryOutcome, LogState, SendOutcome
from krt_scoring.inputs.client_settings import producer_settings
from krt_scoring.selftest.baseline import EDGE, MutationPoint, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krt_scoring.allowances.truncations import Truncation
    from krt_scoring.history.facts import Facts
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.selftest.patch import Place, Row, Sent

SMALLEST = 2 * EDGE + 1
"""Records of a mutation point below which none of them may be changed."""

REACH = 8
"""Offsets read on either side of a place: a mutation point is small and mostly fits into them."""


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
    """What decides whether the outcome of a record could depend on more than its surroundings."""

    facts: Facts
    faults: tuple[FaultWindow, ...]
    cuts: tuple[Truncation, ...]

    def undisturbed(self, send: Row, offset: int) -> bool:
        """Whether neither a fault nor an election bears on a record."""
        if any(fault.begin <= send["done_at"] < fault.end for fault in self.faults):
            return False
        tp = self.facts.positions.tp(send["topic"], send["partition"])
        acks = producer_settings(self.facts.run, send["producer"]).acks
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

    in_log: dict[Place, list[Row]] = field(default_factory=lambda: defaultdict(list))
    read: dict[Place, list[Row]] = field(default_factory=lambda: defaultdict(list))
    sends: dict[Sent, list[Row]] = field(default_factory=lambda: defaultdict(list))
    marks: dict[tuple[str, str, int], list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, rows: Rows) -> _Rows:
        found = cls()
        for row in rows.log:
            found.in_log[_place(row)].append(row)
        for row in rows.consume:
            found.read[_place(row)].append(row)
        for row in rows.produce:
            found.sends[_sent(row)].append(row)
        for row in rows.marks:
            found.marks[row["incarnation"], row["topic"], row["partition"]].append(row["event_seq"])
        return found


def build(
    windows: Iterable[Window], rows: Rows, conditions: Conditions
) -> tuple[MutationPoint, ...]:
    """Return the mutation points in the windows, at most one each."""
    known = _Rows.of(rows)
    found = []
    for window in windows:
        stretches: list[list[Record]] = [[]]
        for offset in range(window.low, window.high + 1):
            position = window.topic, window.partition, offset
            if (
                position not in rows.dirty
                and not known.in_log[position]
                and not known.read[position]
            ):
                # A marker, or nothing.
                continue
            record = (
                None if position in rows.dirty else _record(position, known, rows.quiet, conditions)
            )
            if record is None:
                stretches.append([])
            else:
                stretches[-1].append(record)
        last = stretches[-1]
        longest = last if window.last and len(last) >= SMALLEST else max(stretches, key=len)
        point = MutationPoint(tuple(longest), last=window.last and longest is last)
        if len(longest) >= SMALLEST and _in_order(point, known.marks):
            found.append(point)
    return tuple(found)


def _place(row: Row) -> Place:
    return row["topic"], row["partition"], row["offset"]


def _sent(row: Row) -> Sent:
    return row["producer"], row["producer_incarnation"], row["seq"]


def _record(
    position: Place, known: _Rows, quiet: frozenset[Sent], conditions: Conditions
) -> Record | None:
    """Return the record of a place where it is in order, else None."""
    in_log = known.in_log[position]
    if len(in_log) != 1 or in_log[0]["seq"] is None or _sent(in_log[0]) not in quiet:
        return None
    log, sends = in_log[0], known.sends[_sent(in_log[0])]
    if len(sends) != 1 or not _agree(sends[0], log):
        return None
    if not conditions.undisturbed(sends[0], log["offset"]):
        return None
    got: dict[str, Row] = {}
    for row in known.read[position]:
        intact = (
            row["outcome"] == DeliveryOutcome.OK and row["checksum_ok"] and _sent(row) == _sent(log)
        )
        if not intact or row["group"] in got:
            return None
        got[row["group"]] = row
    if set(got) != set(_owed(log, conditions.facts)):
        return None
    return Record(sends[0], log, {group: got[group] for group in sorted(got)})


def _agree(send: Row, log: Row) -> bool:
    """Whether the ledger agrees with the log about a record."""
    aborted = log["state"] == LogState.ABORTED
    outcome = SendOutcome.FAILED if aborted else SendOutcome.ACKED
    return (
        send["outcome"] == outcome
        and bool(log["checksum_ok"])
        and (send["topic"], send["partition"]) == (log["topic"], log["partition"])
        and send["offset"] in (None, log["offset"])
    )


def _owed(log: Row, facts: Facts) -> Iterator[str]:
    """Yield the groups that must have got a record of the log."""
    tp = facts.positions.tp(log["topic"], log["partition"])
    for group in facts.groups:
        start = facts.starts.get((group.index, tp))
        begun = start is not None and start.offset is not None and start.offset <= log["offset"]
        if begun and (log["state"] != LogState.ABORTED or not group.committed_only):
            yield group.name


def _in_order(point: MutationPoint, marks: Mapping[tuple[str, str, int], Sequence[int]]) -> bool:
    topic, partition = point.position
    for group in {name for record in point.records for name in record.got}:
        for before, row in pairwise(point.read(group)):
            if (
                before["incarnation"] != row["incarnation"]
                or before["event_seq"] >= row["event_seq"]
            ):
                return False
            between = marks.get((row["incarnation"], topic, partition), ())
            if any(before["event_seq"] < n < row["event_seq"] for n in between):
                return False
    return True
