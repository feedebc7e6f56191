"""The generated histories hold what they say they do, checked by reading the files."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

from bench.scoring import lines, plain, tables
from bench.scoring.__main__ import cache
from bench.scoring.history import BUNDLE, PLAIN, Planted
from krt_contract.bundle import Bundle
from krt_scoring.inputs import bundle_files

if TYPE_CHECKING:
    from pathlib import Path

SENDS = 120_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    tables.generate(folder, SENDS)
    return folder


def test_cache_is_made_where_nothing_is_cached_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRT_CACHE", str(tmp_path / "none"))
    assert cache().is_dir()
    assert cache().is_relative_to(tmp_path)


def test_history_generated_passes_inspection(root: Path) -> None:
    inspected = bundle_files.inspect(Bundle(root / BUNDLE))
    assert inspected.reasons == ()
    outcomes = Planted(SENDS).outcomes
    assert inspected.rows["produce"] == outcomes["attempted"]
    assert inspected.rows["log"] == outcomes["logRecords"]
    assert inspected.rows["consume"] == outcomes["deliveries"]


def test_history_offsets_and_sequences_are_unique(root: Path) -> None:
    for table, columns in (
        ("log", ["topic", "partition", "offset"]),
        ("produce", ["producer", "producer_incarnation", "seq"]),
        ("consume", ["incarnation", "event_seq"]),
    ):
        rows = ds.dataset(Bundle(root / BUNDLE).table(table)).to_table(columns=columns)
        assert rows.group_by(columns).aggregate([]).num_rows == rows.num_rows, table


def test_history_acked_sends_lie_in_log_except_planted_losses(root: Path) -> None:
    identity = ["topic", "partition", "offset", "producer", "seq"]
    bundle = Bundle(root / BUNDLE)
    acked = ds.dataset(bundle.table("produce")).to_table(
        columns=identity, filter=ds.field("outcome") == "acked"
    )
    in_log = ds.dataset(bundle.table("log")).to_table(columns=identity)
    lost = acked.join(in_log, identity, join_type="left anti")
    planted = Planted(SENDS)
    assert lost.num_rows == planted.lost
    assert set(lost["topic"].to_pylist()) == {PLAIN}


def test_plain_comparison_finds_planted_losses(root: Path, tmp_path: Path) -> None:
    lines.write(Bundle(root / BUNDLE), tmp_path)
    planted = Planted(SENDS)
    found = plain.validate(tmp_path)
    assert found["missing"] == planted.lost + planted.unseen
    assert found["consumed"] == planted.deliveries
    delivered = Counter(plain.values(tmp_path / lines.CONSUMED, "record_data"))
    again = sum(count - 1 for count in delivered.values())
    assert found["duplicates"] == again == planted.expected["duplicate-delivery"] + planted.copied
    assert not found["success"]
