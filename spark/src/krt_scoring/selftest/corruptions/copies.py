"""Rows the log holds too often, or that are nobody's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_contract.outcomes import LogState
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

    from krt_scoring.selftest.baseline import Baseline

COPY, DOUBLED, FOREIGN = "copied-record", "doubled-log-row", "foreign-record"

ABOVE = {COPY: 0, FOREIGN: 1}
"""Corruption → how far above the log's end it puts its row."""


def _copy(baseline: Baseline) -> Iterator[Corruption]:
    """Put a record a second time at the end of its partition's log."""
    for point, index in baseline.positions(COPY):
        record = point.records[index]
        producer = baseline.incarnation(record)
        settings = producer_settings(baseline.facts.run, producer.producer)
        # Where a message timeout may have expired, a duplicate of that incarnation is permitted.
        if record.aborted or (settings.idempotent and producer.unknown):
            continue
        topic, partition, _ = record.position
        position = topic, partition, baseline.end(topic, partition) + ABOVE[COPY]
        rule = RETRIES if not settings.idempotent and settings.retries else None
        patch = Patch(log={position: [record.log | {"offset": position[2]}]})
        findings = once(of_record("duplicate-write", record, rule=rule))
        yield Corruption(
            COPY,
            record.position,
            patch,
            Difference(findings, Counter(logRecords=1)),
            frozenset({record.position, record.sent}),
        )


def _doubled(baseline: Baseline) -> Iterator[Corruption]:
    """List a record twice at its offset."""
    for point, index in baseline.positions(DOUBLED):
        record = point.records[index]
        if record.aborted or "DuplicateLogRows" in baseline.reason_codes:
            continue
        expected = Difference(
            ledger=Counter(logRecords=1),
            reasons=frozenset({("evidence", "DuplicateLogRows", "log")}),
        )
        patch = Patch(log={record.position: [record.log, record.log]})
        yield Corruption(DOUBLED, record.position, patch, expected)


def _foreign(baseline: Baseline) -> Iterator[Corruption]:
    """Put a record of somebody else at the end of a log."""
    for point, index in baseline.positions(FOREIGN):
        if "ForeignRecords" in baseline.reason_codes:
            return
        row = point.records[index].log
        topic, partition = point.position
        position = topic, partition, baseline.end(topic, partition) + ABOVE[FOREIGN]
        nobody = dict.fromkeys(("run_uid", "producer", "producer_incarnation", "seq", "key"))
        stray = (
            row
            | nobody
            | {"offset": position[2], "checksum_ok": False, "state": LogState.PLAIN.value}
        )
        expected = Difference(
            ledger=Counter(logRecords=1, foreign=1),
            reasons=frozenset({("evidence", "ForeignRecords", "log")}),
        )
        yield Corruption(FOREIGN, position, Patch(log={position: [stray]}), expected)


KINDS = (
    Kind(COPY, ("duplicate-write",), "a record in the log, its producer's sends known", _copy),
    Kind(DOUBLED, (), "a log without doubled rows", _doubled),
    Kind(FOREIGN, (), "a log without foreign records", _foreign),
)
