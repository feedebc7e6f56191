"""The generated histories hold what they say they do, told by reading the files."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest
from hack import bench_lines, bench_plain, bench_tables
from hack.bench_history import BUNDLE, PLAIN, Planted

from krt_contract.bundle import Bundle
from krt_scoring.inputs import bundle_files

if TYPE_CHECKING:
    from pathlib import Path

SENDS = 120_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    bench_tables.generate(folder, SENDS)
    return folder


def test_every_file_can_be_used(root: Path) -> None:
    inspected = bundle_files.inspect(Bundle(root / BUNDLE))
    assert inspected.reasons == ()
    terms = Planted(SENDS).terms
    assert inspected.rows["produce"] == terms["attempted"]
    assert inspected.rows["log"] == terms["logRecords"]
    assert inspected.rows["consume"] == terms["deliveries"]


def test_offsets_and_members_sequences_have_no_twins(root: Path) -> None:
    for table, columns in (
        ("log", ["topic", "partition", "offset"]),
        ("produce", ["producer", "producer_incarnation", "seq"]),
        ("consume", ["incarnation", "event_seq"]),
    ):
        rows = ds.dataset(Bundle(root / BUNDLE).table(table)).to_table(columns=columns)
        assert rows.group_by(columns).aggregate([]).num_rows == rows.num_rows, table


def test_what_was_acked_lies_where_it_was_acked_but_for_the_lost(root: Path) -> None:
    identity = ["topic", "partition", "offset", "producer", "seq"]
    bundle = Bundle(root / BUNDLE)
    acked = ds.dataset(bundle.table("produce")).to_table(
        columns=identity, filter=ds.field("outcome") == "acked"
    )
    held = ds.dataset(bundle.table("log")).to_table(columns=identity)
    lost = acked.join(held, identity, join_type="left anti")
    planted = Planted(SENDS)
    assert lost.num_rows == planted.lost
    assert set(lost["topic"].to_pylist()) == {PLAIN}


def test_the_plain_comparison_finds_what_is_missing(root: Path, tmp_path: Path) -> None:
    bench_lines.write(Bundle(root / BUNDLE), tmp_path)
    planted = Planted(SENDS)
    found = bench_plain.validate(tmp_path)
    assert found["missing"] == planted.lost + planted.unseen
    assert found["consumed"] == planted.deliveries
    delivered = Counter(bench_plain.values(tmp_path / bench_lines.CONSUMED, "record_data"))
    again = sum(count - 1 for count in delivered.values())
    assert found["duplicates"] == again == planted.expected["duplicate-delivery"] + planted.copied
    assert not found["success"]
