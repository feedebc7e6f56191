"""Which partition of __consumer_offsets holds a group's commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from krt_scoring.run_info import RunInfo

PARTITIONS_DEFAULT = 50
"""Kafka 3.9's offsets.topic.num.partitions."""

_INT_BITS = 32
_SIGN = 1 << (_INT_BITS - 1)


def java_hash(text: str) -> int:
    """Return ``String.hashCode`` of Java."""
    value = 0
    data = text.encode("utf-16-be")
    for high, low in zip(data[0::2], data[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) % (1 << _INT_BITS)
    return value - (1 << _INT_BITS) if value >= _SIGN else value


def partition_of(group: str, run: RunInfo) -> int:
    """Return the partition by Kafka's rule: hash, sign bit cleared, modulo partitions."""
    count = int(run.broker_config.get("offsets.topic.num.partitions", PARTITIONS_DEFAULT))
    return (java_hash(group) & (_SIGN - 1)) % count
