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

    from krt_scoring.selftest.baseline import Ground

OFFSET, PARTITION = "wrong-offset", "wrong-partition"
IN_LOG, DELIVERED = "damaged-in-log", "damaged-delivery"


def _offset(ground: Ground) -> Iterator[Corruption]:
    """Let an ack name the offset of the next record."""
    for site, index in ground.positions(OFFSET):
        record = site.records[index]
        if record.aborted or record.send["offset"] is None or index + 1 not in site.inner:
            continue
        other = site.records[index + 1]
        topic, partition, offset = other.position
        patch = Patch(produce={record.sent: [record.send | {"offset": offset}]})
        found = Finding("inconsistent-offsets", topic=topic, partition=partition, offset=offset)
        held = frozenset({record.position, other.position, other.sent})
        yield Corruption(OFFSET, other.position, patch, Difference(once(found)), held)


def _partition(ground: Ground) -> Iterator[Corruption]:
    """Let a producer say that it sent to another partition."""
    for site, index in ground.positions(PARTITION):
        record = site.records[index]
        topic, partition, _ = record.position
        info = ground.facts.run.topic(topic)
        count = info.partitions if info else 1
        if record.aborted or count == 1:
            continue
        elsewhere = record.send | {"partition": (partition + 1) % count, "offset": None}
        found = of_record("corrupt-payload", record, tag="otherPartition")
        yield Corruption(
            PARTITION,
            record.position,
            Patch(produce={record.sent: [elsewhere]}),
            Difference(once(found)),
            frozenset({record.position}),
        )


def _in_log(ground: Ground) -> Iterator[Corruption]:
    """Damage the bytes the log holds."""
    for site, index in ground.positions(IN_LOG):
        record = site.records[index]
        if record.aborted:
            continue
        found = once(of_record("corrupt-payload", record, tag="checksum"))
        patch = Patch(log={record.position: [record.log | {"checksum_ok": False}]})
        yield Corruption(IN_LOG, record.position, patch, Difference(found, Counter(corrupt=1)))


def _delivered(ground: Ground) -> Iterator[Corruption]:
    """Damage the bytes a group got."""
    for site, index in ground.positions(DELIVERED):
        record = site.records[index]
        if record.aborted or not record.got:
            continue
        rows = record.deliveries
        found = once(of_record("corrupt-payload", record, tag="checksum"))
        damaged = [rows[0] | {"checksum_ok": False}, *rows[1:]]
        patch = Patch(consume={record.position: damaged})
        yield Corruption(DELIVERED, record.position, patch, Difference(found, Counter(corrupt=1)))


KINDS = (
    Kind(
        OFFSET,
        ("inconsistent-offsets",),
        "two neighbours, the first acked with its offset",
        _offset,
    ),
    Kind(PARTITION, ("corrupt-payload",), "a topic of two partitions or more", _partition),
    Kind(IN_LOG, ("corrupt-payload",), "a record in the log", _in_log),
    Kind(DELIVERED, ("corrupt-payload",), "a record delivered to a group", _delivered),
)
