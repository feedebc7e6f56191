"""Two deliveries that changed places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.selftest.corruption import Corruption, Kind, reading
from krt_scoring.selftest.difference import Difference
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Ground, Record, Site
    from krt_scoring.selftest.patch import Row

POLLS, KEYS = "swapped-polls", "swapped-keys"

MOMENT = ("event_seq", "poll", "poll_index", "delivered_at", "delivered_mono", "processed_at")
"""Columns that say when and in what order a record was handed out."""


def _at(row: Row, when: Row) -> Row:
    return row | {name: when[name] for name in MOMENT}


def _swapped(
    ground: Ground, name: str, site: Site, records: tuple[Record, Record], group: str
) -> Corruption:
    rows = [record.got[group] for record in records]
    moved = [_at(rows[0], rows[1]), _at(rows[1], rows[0])]
    consume = {
        record.position: [new if other is old else other for other in record.deliveries]
        for record, old, new in zip(records, rows, moved, strict=True)
    }
    after = [row for row in site.read(group) if row not in rows] + moved
    found = reading(ground, site, group, after)
    return Corruption(name, records[0].position, Patch(consume=consume), Difference(found))


def _polls(ground: Ground) -> Iterator[Corruption]:
    """Swap two neighbours, each handed out by a poll of its own."""
    for site, index in ground.positions(POLLS):
        if index + 1 not in site.inner:
            continue
        pair = site.records[index], site.records[index + 1]
        for group in sorted(set(pair[0].got) & set(pair[1].got)):
            found = _swapped(ground, POLLS, site, pair, group)
            if site.around(group, pair[0].offset, pair[1].offset) and any(
                item.anomaly == "nonmonotonic-poll" for item in found.expected.findings
            ):
                yield found


def _keys(ground: Ground) -> Iterator[Corruption]:
    """Swap two records of one key."""
    for site, index in ground.positions(KEYS):
        first = site.records[index]
        others = [
            site.records[other]
            for other in site.inner
            if other > index and site.records[other].log["key"] == first.log["key"]
        ]
        for group in sorted(first.got):
            for other in [record for record in others if group in record.got][:1]:
                found = _swapped(ground, KEYS, site, (first, other), group)
                if site.around(group, first.offset, other.offset) and any(
                    item.anomaly == "key-order" for item in found.expected.findings
                ):
                    yield found


KINDS = (
    Kind(
        POLLS,
        ("nonmonotonic-poll",),
        "two neighbours that one member got by different polls",
        _polls,
    ),
    Kind(KEYS, ("key-order",), "two records of one key that one member got in order", _keys),
)
