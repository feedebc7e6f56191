"""Rows the log holds too often, or that are nobody's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_contract.outcomes import LogState
from krt_scoring.allowances.duplicates import RETRIES
from krt_scoring.allowances.settings import of_identity
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

    from krt_scoring.selftest.baseline import Ground

COPY, DOUBLED, FOREIGN = "copied-record", "doubled-log-row", "foreign-record"

ABOVE = {COPY: 0, FOREIGN: 1}
"""Corruption → how far above the log's end it puts its row."""


def _copy(ground: Ground) -> Iterator[Corruption]:
    """Put a record a second time at the end of its partition's log."""
    for site, index in ground.places(COPY):
        record = site.records[index]
        producer = ground.incarnation(record)
        settings = of_identity(ground.facts.run, producer.producer)
        # Where a message timeout may have expired, a duplicate of that incarnation is permitted.
        if record.aborted or (settings.idempotent and producer.unknown):
            continue
        topic, partition, _ = record.place
        place = topic, partition, ground.end(topic, partition) + ABOVE[COPY]
        rule = RETRIES if not settings.idempotent and settings.retries else None
        patch = Patch(log={place: [record.log | {"offset": place[2]}]})
        found = once(of_record("duplicate-write", record, rule=rule))
        yield Corruption(
            COPY,
            record.place,
            patch,
            Difference(found, Counter(logRecords=1)),
            frozenset({record.place, record.sent}),
        )


def _doubled(ground: Ground) -> Iterator[Corruption]:
    """List a record twice at its offset."""
    for site, index in ground.places(DOUBLED):
        record = site.records[index]
        if record.aborted or "DuplicateLogRows" in ground.doubts:
            continue
        expected = Difference(
            ledger=Counter(logRecords=1),
            reasons=frozenset({("evidence", "DuplicateLogRows", "log")}),
        )
        patch = Patch(log={record.place: [record.log, record.log]})
        yield Corruption(DOUBLED, record.place, patch, expected)


def _foreign(ground: Ground) -> Iterator[Corruption]:
    """Put a record of somebody else at the end of a log."""
    for site, index in ground.places(FOREIGN):
        if "ForeignRecords" in ground.doubts:
            return
        row = site.records[index].log
        topic, partition = site.place
        place = topic, partition, ground.end(topic, partition) + ABOVE[FOREIGN]
        nobody = dict.fromkeys(("run_uid", "producer", "producer_incarnation", "seq", "key"))
        stray = (
            row | nobody | {"offset": place[2], "checksum_ok": False, "state": LogState.PLAIN.value}
        )
        expected = Difference(
            ledger=Counter(logRecords=1, foreign=1),
            reasons=frozenset({("evidence", "ForeignRecords", "log")}),
        )
        yield Corruption(FOREIGN, place, Patch(log={place: [stray]}), expected)


KINDS = (
    Kind(COPY, ("duplicate-write",), "a record in the log, its producer's sends told", _copy),
    Kind(DOUBLED, (), "a log without doubled rows", _doubled),
    Kind(FOREIGN, (), "a log without foreign records", _foreign),
)
