"""Places and payloads that contradict each other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_scoring.selftest.corruption import (
    Corruption,
    Kind,
    of_record,
    once,
)
from krt_scoring.selftest.difference import Difference, Finding
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Baseline

OFFSET, PARTITION = "wrong-offset", "wrong-partition"
IN_LOG, DELIVERED = "damaged-in-log", "damaged-delivery"
UNREADABLE = "unreadable-in-log"


def _offset(baseline: Baseline) -> Iterator[Corruption]:
    """Let an ack name the offset of the next record."""
    for point, index in baseline.positions(OFFSET):
        record = point.records[index]
        if record.aborted or record.send["offset"] is None or index + 1 not in point.inner:
            continue
        other = point.records[index + 1]
        topic, partition, offset = other.position
        patch = Patch(produce={record.sent: [record.send | {"offset": offset}]})
        findings = Finding("inconsistent-offsets", topic=topic, partition=partition, offset=offset)
        depends_on = frozenset({record.position, other.position, other.sent})
        yield Corruption(OFFSET, other.position, patch, Difference(once(findings)), depends_on)


def _partition(baseline: Baseline) -> Iterator[Corruption]:
    """Let a producer say that it sent to another partition."""
    for point, index in baseline.positions(PARTITION):
        record = point.records[index]
        topic, partition, _ = record.position
        info = baseline.facts.run.topic(topic)
        count = info.partitions if info else 1
        if record.aborted or count == 1:
            continue
        elsewhere = record.send | {"partition": (partition + 1) % count, "offset": None}
        findings = of_record("corrupt-payload", record, tag="otherPartition")
        yield Corruption(
            PARTITION,
            record.position,
            Patch(produce={record.sent: [elsewhere]}),
            Difference(once(findings)),
            frozenset({record.position}),
        )


def _in_log(baseline: Baseline) -> Iterator[Corruption]:
    """Damage the bytes the log holds."""
    for point, index in baseline.positions(IN_LOG):
        record = point.records[index]
        if record.aborted:
            continue
        findings = once(of_record("corrupt-payload", record, tag="checksum"))
        patch = Patch(log={record.position: [record.log | {"checksum_ok": False}]})
        yield Corruption(IN_LOG, record.position, patch, Difference(findings, Counter(corrupt=1)))


def _unreadable(baseline: Baseline) -> Iterator[Corruption]:
    """Damage the bytes the log holds so that they do not say any more whose they are."""
    for point, index in baseline.positions(UNREADABLE):
        record = point.records[index]
        if record.aborted or record.send["offset"] is None:
            continue
        findings = once(of_record("corrupt-payload", record, tag="checksum"))
        nobody = dict.fromkeys(("run_uid", "producer", "producer_incarnation", "seq"))
        patch = Patch(log={record.position: [record.log | nobody | {"checksum_ok": False}]})
        depends_on = frozenset({record.sent})
        difference = Difference(findings, Counter(corrupt=1))
        yield Corruption(UNREADABLE, record.position, patch, difference, depends_on)


def _delivered(baseline: Baseline) -> Iterator[Corruption]:
    """Damage the bytes a group got."""
    for point, index in baseline.positions(DELIVERED):
        record = point.records[index]
        if record.aborted or not record.got:
            continue
        rows = record.deliveries
        findings = once(of_record("corrupt-payload", record, tag="checksum"))
        damaged = [rows[0] | {"checksum_ok": False}, *rows[1:]]
        patch = Patch(consume={record.position: damaged})
        yield Corruption(
            DELIVERED, record.position, patch, Difference(findings, Counter(corrupt=1))
        )


KINDS = (
    Kind(
        OFFSET,
        ("inconsistent-offsets",),
        "two neighbours, the first acked with its offset",
        _offset,
    ),
    Kind(PARTITION, ("corrupt-payload",), "a topic of two partitions or more", _partition),
    Kind(IN_LOG, ("corrupt-payload",), "a record in the log", _in_log),
    Kind(
        UNREADABLE,
        ("corrupt-payload",),
        "a record in the log, acked with its offset",
        _unreadable,
    ),
    Kind(DELIVERED, ("corrupt-payload",), "a record delivered to a group", _delivered),
)
