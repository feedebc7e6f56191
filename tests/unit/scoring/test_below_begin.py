"""Logs that were cut below where a run began, on topics that were there before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.scoring.builders import LOG_END, RUN, guard_inputs

from krt_contract.bundle import Bundle, write_json
from krt_contract.ledger import LedgerWriter
from krt_contract.schemas import TABLES
from krt_scoring.inputs import recording
from krt_scoring.inputs.below_begin import TABLES as LEDGERS
from krt_scoring.inputs.below_begin import find
from krt_scoring.inputs.bundle_files import inspect
from krt_scoring.verdict.guards.registry import check_all

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.plan import Plan

BEGIN = 40
COLUMNS = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])
END = replace(LOG_END, log_start=BEGIN, read_from=BEGIN, read_to=90, high_watermark=90)


def adopted(**begin: int) -> Plan:
    """The plan of a run on foo, which was there before, with these begins by partition."""
    (foo, *others) = RUN.topics
    numbered = {int(name.removeprefix("p")): offset for name, offset in begin.items()}
    return replace(RUN, topics=(replace(foo, begin=numbered), *others))


def written(folder: Path, *rows: tuple[str | None, int | None, int | None]) -> Path:
    """A file of a ledger, a row group for each two rows."""
    path = folder / "some.parquet"
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    table = pa.table(dict(zip(COLUMNS.names, columns, strict=True)), schema=COLUMNS)
    pq.write_table(table, path, row_group_size=2)
    return path


@pytest.mark.parametrize("table", LEDGERS)
def test_find_names_the_partitions_used_below_their_begin(table: str, tmp_path: Path) -> None:
    rows = (("foo", 0, 40), ("foo", 1, 7), ("foo", 0, 39), ("foo", 1, 8), ("foo", 2, 0))
    files = {table: [written(tmp_path, *rows)]}
    assert find(files, [END], adopted(p0=BEGIN, p1=7, p2=0)) == (("foo", 0),)
    assert find(files, [END], adopted(p0=BEGIN, p1=9, p2=0)) == (("foo", 0), ("foo", 1))


def test_find_passes_over_what_has_no_offset_or_is_at_its_begin(tmp_path: Path) -> None:
    path = written(tmp_path, ("foo", 0, None), (None, None, None), ("foo", 0, BEGIN))
    assert find({"consumer_events": [path]}, [END], adopted(p0=BEGIN)) == ()


def test_find_names_the_partition_whose_log_ends_below_its_begin() -> None:
    ends = [replace(END, high_watermark=BEGIN - 1), replace(END, partition=1, high_watermark=0)]
    assert find({}, ends, adopted(p0=BEGIN, p1=0)) == (("foo", 0),)
    assert find({}, [replace(END, high_watermark=BEGIN)], adopted(p0=BEGIN)) == ()


def test_find_of_a_run_on_topics_of_its_own_reads_no_file(tmp_path: Path) -> None:
    assert find({"produce": [tmp_path / "not there"]}, [LOG_END], RUN) == ()


def test_load_of_a_bundle_finds_what_was_acknowledged_below_the_begin(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path)
    write_json(bundle.run_json, {})
    row: dict[str, Any] = dict.fromkeys(TABLES["produce"].names, 1)
    row |= dict.fromkeys(("producer", "producer_incarnation", "outcome", "key", "error"), "p")
    row |= {"topic": "foo", "partition": 0, "offset": BEGIN - 1, "transaction_outcome": None}
    ledger = LedgerWriter(bundle.table("produce"), "produce", "p")
    ledger.write({name: [value] for name, value in row.items()})
    loaded = recording.load(inspect(bundle), adopted(p0=BEGIN))
    assert loaded.below_begin == (("foo", 0),)


def test_cut_log_voids_what_was_found_of_its_partition_and_no_other() -> None:
    given = guard_inputs(run=adopted(p0=BEGIN), log_ends=(END,))
    assert check_all(given) == []
    cut = replace(given.recording, below_begin=(("foo", 0),))
    (reason,) = check_all(replace(given, recording=cut))
    assert (reason.kind, reason.code, reason.subject) == ("evidence", "LogCutBelowBegin", "foo-0")
    assert "cut below 40, where the run began" in reason.message
    assert reason.scope.as_dict() == {"partitions": ["foo-0"]}
    assert {"lost-write", "unseen", "commit-rewind"} <= set(reason.invalidates)
    assert "unexpected-rebalance" not in reason.invalidates
