"""Two deliveries that changed places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.selftest.corruption import Corruption, Kind, reading
from krt_scoring.selftest.difference import Difference
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Baseline, MutationPoint, Record
    from krt_scoring.selftest.patch import Row

POLLS, KEYS = "swapped-polls", "swapped-keys"

MOMENT = ("event_seq", "poll", "poll_index", "delivered_at", "delivered_mono", "processed_at")
"""Columns that say when and in what order a record was handed out."""


def _at(row: Row, when: Row) -> Row:
    return row | {name: when[name] for name in MOMENT}


def _swapped(
    baseline: Baseline, name: str, point: MutationPoint, records: tuple[Record, Record], group: str
) -> Corruption:
    rows = [record.got[group] for record in records]
    moved = [_at(rows[0], rows[1]), _at(rows[1], rows[0])]
    consume = {
        record.position: [new if other is old else other for other in record.deliveries]
        for record, old, new in zip(records, rows, moved, strict=True)
    }
    after = [row for row in point.read(group) if row not in rows] + moved
    findings = reading(baseline, point, group, after)
    return Corruption(name, records[0].position, Patch(consume=consume), Difference(findings))


def _polls(baseline: Baseline) -> Iterator[Corruption]:
    """Swap two neighbours, each handed out by a poll of its own."""
    for point, index in baseline.positions(POLLS):
        if index + 1 not in point.inner:
            continue
        pair = point.records[index], point.records[index + 1]
        for group in sorted(set(pair[0].got) & set(pair[1].got)):
            corruption = _swapped(baseline, POLLS, point, pair, group)
            if point.around(group, pair[0].offset, pair[1].offset) and any(
                item.anomaly == "nonmonotonic-poll" for item in corruption.expected.findings
            ):
                yield corruption


def _keys(baseline: Baseline) -> Iterator[Corruption]:
    """Swap two records of one key."""
    for point, index in baseline.positions(KEYS):
        first = point.records[index]
        others = [
            point.records[other]
            for other in point.inner
            if other > index and point.records[other].log["key"] == first.log["key"]
        ]
        for group in sorted(first.got):
            for other in [record for record in others if group in record.got][:1]:
                corruption = _swapped(baseline, KEYS, point, (first, other), group)
                if point.around(group, first.offset, other.offset) and any(
                    item.anomaly == "key-order" for item in corruption.expected.findings
                ):
                    yield corruption


KINDS = (
    Kind(
        POLLS,
        ("nonmonotonic-poll",),
        "two neighbours that one member got by different polls",
        _polls,
    ),
    Kind(KEYS, ("key-order",), "two records of one key that one member got in order", _keys),
)
