"""Rows that no writer of ours records are named with their file and number."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import RUN, event, ledger_file

from krt_contract.bundle import Bundle
from krt_contract.schemas import TABLES
from krt_scoring.history import positions
from krt_scoring.inputs import bundle_files, row_checks, row_limits
from krt_scoring.inputs.reasons import BY_TABLE
from krt_scoring.inputs.row_limits import CLOCK_TOLERANCE, RowLimits, limits_of
from krt_scoring.inputs.scope import Scope
from krt_scoring.inputs.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

    from krt_scoring.inputs.bundle_files import Inspection

START = 1_800_000_000_000_000
LIMITS = RowLimits((START - CLOCK_TOLERANCE, START + row_limits.LONGEST_RUN), frozenset({"g"}))
SEND = {
    "producer": "p-0",
    "producer_incarnation": "uid-p",
    "topic": "foo",
    "outcome": "acked",
    "scheduled_at": START,
    "sent_at": START,
    "done_at": START,
}
READER = {"consumer": "c-0", "incarnation": "uid-c", "group": "g", "topic": "foo"}
DELIVERY = {**READER, "outcome": "ok", "delivered_at": START}
EVENT = {**READER, "event": "closed", "at": START}
RECORD = {"topic": "foo", "state": "plain"}


def inspected(folder: Path, table: str, rows: list[dict[str, Any]]) -> Inspection:
    (folder / table).mkdir()
    ledger_file(folder / table, table, rows)
    return bundle_files.inspect(Bundle(folder), needed=())


CASES: dict[str, tuple[str, list[dict[str, Any]], tuple[str, str], Scope]] = {
    "a negative offset of a send": (
        "produce",
        [SEND, SEND | {"offset": -5}, SEND | {"offset": -6}],
        ("produce/produce.parquet row 1", "offset is -5"),
        Scope(("produce",), incarnations=("uid-p",)),
    ),
    "a negative offset of a delivery": (
        "consume",
        [DELIVERY, DELIVERY | {"event_seq": 1, "offset": -1}],
        ("consume/consume.parquet row 1", "offset is -1"),
        Scope(("consume",), groups=("g",)),
    ),
    "an offset that no log reaches": (
        "consumer_events",
        [EVENT, EVENT | {"event_seq": 1, "offset": 1 << 50}],
        ("consumer_events/consumer_events.parquet row 1", "offset is 1125899906842624"),
        Scope(("consumer_events",), groups=("g",)),
    ),
    "a negative offset of a record": (
        "log",
        [RECORD, RECORD | {"offset": -1, "partition": 1}],
        ("log/log.parquet row 1", "offset is -1"),
        Scope(("log",), (("foo", 1),)),
    ),
    "a negative partition of a record": (
        "log",
        [RECORD, RECORD | {"partition": -1}],
        ("log/log.parquet row 1", "partition is -1"),
        Scope(("log",)),
    ),
    "a negative number of a summary": (
        "producer_summary",
        [{"producer": "p-0", "producer_incarnation": "uid-p", "attempted": -1}],
        ("producer_summary/producer_summary.parquet row 0", "attempted is -1"),
        Scope(("producer_summary",), incarnations=("uid-p",)),
    ),
    "a negative end of a log": (
        "log_end_offsets",
        [{"topic": "foo", "isr": [0], "high_watermark": -1}],
        ("log_end_offsets/log_end_offsets.parquet row 0", "high_watermark is -1"),
        Scope(("log_end_offsets",), (("foo", 0),)),
    ),
    "a delivery of another group": (
        "consume",
        [DELIVERY, DELIVERY | {"event_seq": 1, "group": "of-nobody"}],
        ("consume/consume.parquet row 1", "group is of-nobody"),
        Scope(("consume",), groups=("g", "of-nobody")),
    ),
    "an event of another group alone": (
        "consumer_events",
        [EVENT | {"group": "of-nobody"}],
        ("consumer_events/consumer_events.parquet row 0", "group is of-nobody"),
        Scope(("consumer_events",), groups=("of-nobody",)),
    ),
    "a send before the run": (
        "produce",
        [SEND, SEND | {"scheduled_at": 7}],
        ("produce/produce.parquet row 1", "scheduled_at is 7"),
        Scope(("produce",), incarnations=("uid-p",)),
    ),
    "a delivery long after the run": (
        "consume",
        [DELIVERY | {"delivered_at": START * 1000}],
        ("consume/consume.parquet row 0", "delivered_at is 1800000000000000000"),
        Scope(("consume",), groups=("g",)),
    ),
    "a poll that goes back": (
        "consume",
        [DELIVERY | {"event_seq": n, "poll": poll} for n, poll in enumerate((3, 4, 2, 5))],
        ("consume/consume.parquet row 2", "poll is 2 after 4"),
        Scope(("consume",), groups=("g",)),
    ),
    "a poll that goes back by the order of events": (
        "consume",
        [DELIVERY | {"event_seq": n, "poll": poll} for n, poll in ((3, 1), (2, 5), (1, 4))],
        ("consume/consume.parquet row 0", "poll is 1 after 5"),
        Scope(("consume",), groups=("g",)),
    ),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_checked_of_a_row_that_no_writer_records_names_file_and_row(
    tmp_path: Path, case: str
) -> None:
    table, rows, (subject, cause), scope = CASES[case]
    found = row_checks.checked(inspected(tmp_path, table, rows), LIMITS)
    (reason,) = [item for item in found.reasons if item.code == "RowInvalid"]
    assert (reason.kind, reason.subject) == ("evidence", subject)
    assert reason.message.startswith(f"{cause}, which no writer records")
    assert set(BY_TABLE[table]) <= set(reason.invalidates)
    assert reason.invalidates
    assert reason.scope == scope
    assert found.unsound == (set() if "poll" in case else {table})


def test_checked_counts_further_rows(tmp_path: Path) -> None:
    rows = [SEND | {"offset": -n} for n in range(1, 4)]
    (reason,) = row_checks.checked(inspected(tmp_path, "produce", rows), LIMITS).reasons
    assert "and 2 more of its rows are like it" in reason.message


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("produce", [SEND, SEND | {"offset": 0}, SEND | {"scheduled_at": START - CLOCK_TOLERANCE}]),
        ("consume", [DELIVERY | {"event_seq": n, "poll": n // 2} for n in range(5)]),
        ("consume", [DELIVERY | {"event_seq": n, "poll": n} for n in (4, 2, 3, 1)]),
        ("consumer_events", [EVENT, EVENT | {"poll": None, "event_seq": 1, "offset": None}]),
        ("log", [RECORD, RECORD | {"seq": None}]),
    ],
)
def test_checked_of_what_writers_record_gives_no_reason(
    tmp_path: Path, table: str, rows: list[dict[str, Any]]
) -> None:
    before = inspected(tmp_path, table, rows)
    assert row_checks.checked(before, LIMITS) is before


def test_checked_of_polls_in_several_files_compares_them(tmp_path: Path) -> None:
    folder = tmp_path / "consume"
    folder.mkdir()
    for name, seq, poll in (("a", 1, 9), ("b", 0, 3), ("c", 2, 8)):
        ledger_file(folder, "consume", [DELIVERY | {"event_seq": seq, "poll": poll}])
        (folder / "consume.parquet").rename(folder / f"{name}.parquet")
    found = row_checks.checked(bundle_files.inspect(Bundle(tmp_path), needed=()), LIMITS)
    assert [item.subject for item in found.reasons] == ["consume/c.parquet row 0"]


@pytest.mark.parametrize(
    ("files", "subjects"),
    [
        ({"a": [(0, 1), (3, 4)], "b": [(1, 2), (2, 3), (4, 5)]}, []),
        ({"a": [(0, 1), (3, 4)], "b": [(1, 2), (2, 9)]}, ["consume/a.parquet row 1"]),
        ({"a": [(0, 1), (3, 9)], "b": [(1, 2), (4, 5)]}, ["consume/b.parquet row 1"]),
    ],
)
def test_checked_of_polls_in_interleaved_files_puts_them_in_order(
    tmp_path: Path, files: dict[str, list[tuple[int, int]]], subjects: list[str]
) -> None:
    folder = tmp_path / "consume"
    folder.mkdir()
    for name, polls in files.items():
        rows = [DELIVERY | {"event_seq": seq, "poll": poll} for seq, poll in polls]
        ledger_file(folder, "consume", rows)
        (folder / "consume.parquet").rename(folder / f"{name}.parquet")
    found = row_checks.checked(bundle_files.inspect(Bundle(tmp_path), needed=()), LIMITS)
    assert [item.subject for item in found.reasons] == subjects


def test_checked_of_polls_of_two_incarnations_in_one_file_keeps_them_apart(tmp_path: Path) -> None:
    other = DELIVERY | {"incarnation": "uid-d"}
    rows = [
        DELIVERY | {"event_seq": 0, "poll": 7},
        other | {"event_seq": 0, "poll": 1},
        DELIVERY | {"event_seq": 1, "poll": 8},
        other | {"event_seq": 1, "poll": 0},
    ]
    found = row_checks.checked(inspected(tmp_path, "consume", rows), LIMITS)
    assert [item.subject for item in found.reasons] == ["consume/consume.parquet row 3"]


def test_checked_takes_the_times_of_the_run_from_rows_within_it(tmp_path: Path) -> None:
    rows = [SEND, SEND | {"scheduled_at": 7}]
    found = row_checks.checked(inspected(tmp_path, "produce", rows), LIMITS)
    assert found.sends == (START - CLOCK_TOLERANCE, START)


BASES: dict[str, dict[str, Any]] = {
    "produce": SEND,
    "producer_summary": {"producer": "p-0", "producer_incarnation": "uid-p"},
    "consume": DELIVERY,
    "consumer_events": EVENT,
    "log": RECORD,
    "log_end_offsets": {"topic": "foo", "isr": [0]},
    "replica_log": {"topic": "foo"},
    "replica_bounds": {"topic": "foo"},
}
"""A row of each table that has limits."""

BEYOND = [
    (table, column, value)
    for table in BASES
    for column, (low, high) in LIMITS.ranges(table).items()
    for value in (low - 1, *((high + 1,) if high < (1 << 63) - 1 else ()))
]


@pytest.mark.parametrize(("table", "column", "value"), BEYOND)
def test_checked_of_a_number_beyond_its_limits_names_file_row_and_column(
    tmp_path: Path, table: str, column: str, value: int
) -> None:
    rows = [BASES[table], BASES[table] | {column: value}]
    found = row_checks.checked(inspected(tmp_path, table, rows), LIMITS)
    cause = f"{column} is {value}, which no writer records"
    (reason,) = [item for item in found.reasons if item.message.startswith(cause)]
    assert (reason.code, reason.subject) == ("RowInvalid", f"{table}/{table}.parquet row 1")


@pytest.mark.parametrize("table", row_limits.GROUPED)
def test_checked_of_a_group_that_the_plan_does_not_have_names_file_and_row(
    tmp_path: Path, table: str
) -> None:
    rows = [BASES[table], BASES[table] | {"event_seq": 1, "group": "of-nobody"}]
    found = row_checks.checked(inspected(tmp_path, table, rows), LIMITS)
    (reason,) = [item for item in found.reasons if item.code == "RowInvalid"]
    assert reason.subject == f"{table}/{table}.parquet row 1"


def test_limits_are_of_every_table_that_a_test_alters() -> None:
    assert set(BASES) == {table for table in TABLES if LIMITS.ranges(table)}


def test_limits_of_a_run_begin_with_its_recorder() -> None:
    events = (event(50, "pod", "added"), event(90, "recorder", "started"))
    found = limits_of(RUN, Timeline(events))
    assert found.times == (90 - CLOCK_TOLERANCE, 90 + row_limits.LONGEST_RUN)
    assert found.groups == {"g"}
    assert limits_of(RUN, Timeline(())).times is None
    assert "at" not in replace(found, times=None).ranges("consumer_events")


def test_ranges_are_what_a_position_distinguishes() -> None:
    assert row_limits.OFFSET[1] == (1 << positions.OFFSET_BITS) - 1
    assert row_limits.PARTITION[1] == (1 << positions.PARTITION_BITS) - 1
