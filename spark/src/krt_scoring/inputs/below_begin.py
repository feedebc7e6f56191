"""Partitions in which a run has something below where it began, on topics that were there before.

What lies below was written by others and is not read. Nothing of the run can come to lie there
unless the log was cut: its clients then write, or read, at offsets that others had before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from krt_scoring.inputs.evidence import CONSUME, CONSUMER_EVENTS, PRODUCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from krt_contract.plan import Plan
    from krt_scoring.inputs.recording import LogEnd
    from krt_scoring.inputs.scope import Partition

TABLES = (PRODUCE, CONSUME, CONSUMER_EVENTS)
"""Where offsets are: of acknowledgements, of deliveries, of positions and commits."""

PLACE = ["topic", "partition"]


def find(
    files: Mapping[str, Iterable[Path]], log_ends: Iterable[LogEnd], run: Plan
) -> tuple[Partition, ...]:
    """Return the partitions whose log ends, or that were used, below where the run began there.

    Only runs on topics that were there before have such files read: three columns, a row group at
    a time.

    Args:
        files: table → its files.
        log_ends: of the partitions.
        run: the plan, which says where it began.
    """
    begins = {
        (topic.name, partition): offset
        for topic in run.topics
        for partition, offset in topic.begin.items()
        if offset
    }
    if not begins:
        return ()
    found = {
        (end.topic, end.partition)
        for end in log_ends
        if end.high_watermark < begins.get((end.topic, end.partition), 0)
    }
    for table in TABLES:
        for path in files.get(table, ()):
            found.update(
                place
                for place, offset in _least_offsets(path, max(begins.values()))
                if offset < begins.get(place, 0)
            )
    return tuple(sorted(found))


def _least_offsets(path: Path, below: int) -> Iterator[tuple[Partition, int]]:
    """Yield the least offset of each partition in each row group that may have one below."""
    with pq.ParquetFile(path) as file:
        column = file.schema_arrow.get_field_index("offset")
        for number in range(file.num_row_groups):
            statistics = file.metadata.row_group(number).column(column).statistics
            if statistics is not None and statistics.has_min_max and statistics.min >= below:
                continue
            rows = file.read_row_group(number, columns=[*PLACE, "offset"])
            for row in rows.group_by(PLACE).aggregate([("offset", "min")]).to_pylist():
                if row["offset_min"] is not None:
                    yield (row["topic"], row["partition"]), row["offset_min"]
