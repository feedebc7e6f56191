"""Two sends that lie in the log the other way round, everywhere told so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.anomalies.nonmonotonic_send import RULE
from krt_scoring.inputs.client_settings import producer_settings
from krt_scoring.selftest.corruption import (
    Corruption,
    Kind,
    of_record,
    once,
)
from krt_scoring.selftest.difference import Difference
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Ground, Record
    from krt_scoring.selftest.patch import Row

PLAIN, INSIDE = "swapped-sends", "swapped-sends-in-transaction"

WHO = ("run_uid", "producer", "producer_incarnation", "seq", "checksum_ok")
"""Columns of a delivery that say what was delivered."""


def _told(positions: Record, values: Record) -> list[Row]:
    """The deliveries from one record's place, had the other lain there."""
    return [row | {name: values.log[name] for name in WHO} for row in positions.deliveries]


def _swapped(ground: Ground, name: str, *, inside: bool) -> Iterator[Corruption]:
    for site, index in ground.positions(name):
        first = site.records[index]
        later = [item for item in site.records[index + 1 :] if item.sent[:2] == first.sent[:2]]
        if not later or site.records.index(later[0]) not in site.inner:
            continue
        second = later[0]
        together = first.send["transaction"] is not None and (
            first.send["transaction"] == second.send["transaction"]
        )
        told = first.send["offset"] is not None and second.send["offset"] is not None
        if first.aborted or second.aborted or together != inside or not told:
            continue
        if second.sent[2] < first.sent[2] or set(first.got) != set(second.got):
            continue
        settings = producer_settings(ground.facts.run, first.sent[0])
        permitted = not settings.idempotent and settings.retries and settings.in_flight > 1
        patch = Patch(
            produce={
                first.sent: [first.send | {"offset": second.offset}],
                second.sent: [second.send | {"offset": first.offset}],
            },
            log={
                first.position: [second.log | {"offset": first.offset}],
                second.position: [first.log | {"offset": second.offset}],
            },
            consume={first.position: _told(first, second), second.position: _told(second, first)},
        )
        anomaly = "int-nonmonotonic-send" if inside else "nonmonotonic-send"
        found = of_record(anomaly, second, offset=first.offset, rule=RULE if permitted else None)
        yield Corruption(name, first.position, patch, Difference(once(found)))


def _plain(ground: Ground) -> Iterator[Corruption]:
    """Swap two adjacent sends of one producer."""
    return _swapped(ground, PLAIN, inside=False)


def _inside(ground: Ground) -> Iterator[Corruption]:
    """Swap two adjacent sends of one transaction."""
    return _swapped(ground, INSIDE, inside=True)


KINDS = (
    Kind(
        PLAIN,
        ("nonmonotonic-send",),
        "two sends of one producer near each other in a partition",
        _plain,
    ),
    Kind(
        INSIDE,
        ("int-nonmonotonic-send",),
        "two sends of one committed transaction near each other in a partition",
        _inside,
    ),
)
