"""Expectations about where the records lie: non-empty partitions, partitions of a key."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from krt_scoring.expectations.results import (
    Noun,
    Result,
    count_bounds,
    evaluate_count,
    not_evaluated,
)
from krt_scoring.inputs.ledger_columns import read_batches, read_rows
from krt_scoring.metrics.partition_states import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.inputs.ledger_columns import Files


NON_EMPTY = Noun("partition with records", "partitions with records")
OF_A_KEY = Noun("partition of one key at most", "partitions of one key at most")


def evaluate(expect: Mapping[str, Any], files: Files) -> Iterator[Result]:
    """Yield the results of ``nonEmptyPartitions`` and ``partitionsPerKey``."""
    for item in expect.get("nonEmptyPartitions") or ():
        expectation, what = f"nonEmptyPartitions {item['topic']}", NON_EMPTY
        if not files.get("log_end_offsets"):
            yield not_evaluated(expectation, count_bounds(item, what), "the topics were not read")
            continue
        used = {
            (topic, partition)
            for topic, partition, count in read_rows(
                files, "log_end_offsets", "topic", "partition", "rows_read"
            )
            if topic == item["topic"] and count
        }
        yield evaluate_count(expectation, item, len(used), what, where=names(used))
    bounds = expect.get("partitionsPerKey")
    if bounds:
        yield _per_key(bounds, files)


def _per_key(bounds: Mapping[str, Any], files: Files) -> Result:
    expectation, what = "partitionsPerKey", OF_A_KEY
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for batch in read_batches(files, "log", "topic", "key", "partition"):
        kinds = pa.Table.from_batches([batch]).group_by(batch.schema.names).aggregate([])
        for row in kinds.to_pylist():
            if row["key"] is not None:
                found[row["topic"], row["key"]].add(row["partition"])
    if not found:
        return not_evaluated(
            expectation, count_bounds(bounds, what), "the log holds no record with a key"
        )
    most = max(len(partitions) for partitions in found.values())
    return evaluate_count(expectation, bounds, most, what, where=f"{len(found)} keys")
