"""Two sends that lie in the log in the opposite order, in all ledgers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.allowances.duplicates import RETRIES
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

    from krt_scoring.selftest.baseline import Baseline, Record
    from krt_scoring.selftest.patch import Row

PLAIN, INSIDE = "swapped-sends", "swapped-sends-in-transaction"

WHO = ("run_uid", "producer", "producer_incarnation", "seq", "checksum_ok")
"""Columns of a delivery that say what was delivered."""


def _exchanged(positions: Record, values: Record) -> list[Row]:
    """The deliveries from one record's place, had the other lain there."""
    return [row | {name: values.log[name] for name in WHO} for row in positions.deliveries]


def _swapped(baseline: Baseline, name: str, *, inside: bool) -> Iterator[Corruption]:
    for point, index in baseline.positions(name):
        first = point.records[index]
        later = [item for item in point.records[index + 1 :] if item.sent[:2] == first.sent[:2]]
        if not later or point.records.index(later[0]) not in point.inner:
            continue
        second = later[0]
        together = first.send["transaction"] is not None and (
            first.send["transaction"] == second.send["transaction"]
        )
        both_known = first.send["offset"] is not None and second.send["offset"] is not None
        if first.aborted or second.aborted or together != inside or not both_known:
            continue
        if second.sent[2] < first.sent[2] or set(first.got) != set(second.got):
            continue
        settings = producer_settings(baseline.facts.run, first.sent[0])
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
            consume={
                first.position: _exchanged(first, second),
                second.position: _exchanged(second, first),
            },
        )
        anomaly = "int-nonmonotonic-send" if inside else "nonmonotonic-send"
        findings = of_record(
            anomaly, second, offset=first.offset, rule=RETRIES if permitted else None
        )
        yield Corruption(name, first.position, patch, Difference(once(findings)))


def _plain(baseline: Baseline) -> Iterator[Corruption]:
    """Swap two adjacent sends of one producer."""
    return _swapped(baseline, PLAIN, inside=False)


def _inside(baseline: Baseline) -> Iterator[Corruption]:
    """Swap two adjacent sends of one transaction."""
    return _swapped(baseline, INSIDE, inside=True)


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
