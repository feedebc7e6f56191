"""Records taken out of the log: lost before or after somebody read them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_scoring.selftest.corruption import (
    Corruption,
    Kind,
    of_record,
    once,
    reading,
)
from krt_scoring.selftest.difference import Difference, plus
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Baseline

UNREAD, READ = "lost-record", "lost-record-read"


def _unread(baseline: Baseline) -> Iterator[Corruption]:
    """Take a record out of the log and out of every consumer's ledger."""
    for point, index in baseline.positions(UNREAD):
        record = point.records[index]
        if record.aborted or record.send["offset"] is None:
            continue
        log = [item.log for item in point.records if item is not record]
        findings = once(of_record("lost-write", record))
        for group in record.got:
            after = [row for row in point.read(group) if row is not record.got[group]]
            findings = plus(findings, reading(baseline, point, group, after, log))
        ledger = Counter(lost=1, delivered=-1, logRecords=-1)
        if record.got:
            ledger["deliveries"] = -len(record.got)
        patch = Patch(log={record.position: []}, consume={record.position: []})
        yield Corruption(UNREAD, record.position, patch, Difference(findings, ledger))


def _read(baseline: Baseline) -> Iterator[Corruption]:
    """Take a record out of the log only: somebody has read it."""
    for point, index in baseline.positions(READ):
        record = point.records[index]
        if record.aborted or record.send["offset"] is None or not record.got:
            continue
        findings = once(
            of_record("lost-write", record, tag="afterDelivery"),
            of_record("vanished-read", record),
        )
        log = [item.log for item in point.records if item is not record]
        for group in record.got:
            findings = plus(findings, reading(baseline, point, group, point.read(group), log))
        ledger = Counter(lost=1, lostAfterDelivery=1, delivered=-1, logRecords=-1)
        patch = Patch(log={record.position: []})
        yield Corruption(READ, record.position, patch, Difference(findings, ledger))


NEEDS = "a record acked with an offset where no election may have cut the log"
KINDS = (
    Kind(UNREAD, ("lost-write",), NEEDS, _unread),
    Kind(READ, ("lost-write", "vanished-read"), f"{NEEDS}, and delivered", _read),
)
