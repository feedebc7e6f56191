"""Claims on where the records lie: partitions in use, partitions of a key."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from krt_scoring.expectations.result import (
    Result,
    between,
    counted,
    unmeasured,
)
from krt_scoring.expectations.states import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence


def judge(expect: Mapping[str, Any], evidence: Evidence) -> Iterator[Result]:
    """Yield the results of ``nonEmptyPartitions`` and ``partitionsPerKey``."""
    for item in expect.get("nonEmptyPartitions") or ():
        claim, what = f"nonEmptyPartitions {item['topic']}", "partitions with records"
        if not evidence.files.get("log_end_offsets"):
            yield unmeasured(claim, between(item, what), "the topics were not read")
            continue
        used = {
            (topic, partition)
            for rows in evidence.rows("log_end_offsets", "topic", "partition", "rows_read")
            for topic, partition, count in zip(
                rows["topic"], rows["partition"], rows["rows_read"], strict=True
            )
            if topic == item["topic"] and count
        }
        yield counted(claim, item, len(used), what, where=names(used))
    bounds = expect.get("partitionsPerKey")
    if bounds:
        yield _per_key(bounds, evidence)


def _per_key(bounds: Mapping[str, Any], evidence: Evidence) -> Result:
    claim, what = "partitionsPerKey", "partitions of one key at most"
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for batch in evidence.batches("log", "topic", "key", "partition"):
        kinds = pa.Table.from_batches([batch]).group_by(batch.schema.names).aggregate([])
        for row in kinds.to_pylist():
            if row["key"] is not None:
                found[row["topic"], row["key"]].add(row["partition"])
    if not found:
        return unmeasured(claim, between(bounds, what), "the log holds no record with a key")
    most = max(len(partitions) for partitions in found.values())
    return counted(claim, bounds, most, what, where=f"{len(found)} keys")
