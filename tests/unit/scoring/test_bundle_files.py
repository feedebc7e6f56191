"""Bundles with something wrong: every file that cannot be used is named."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.scoring.builders import RUN

from krt_contract.bundle import Bundle, write_json
from krt_contract.ledger import LedgerWriter
from krt_contract.schemas import TABLES
from krt_scoring import cli, pipeline
from krt_scoring.errors import NotABundleError, PlanError
from krt_scoring.inputs import bundle_files, run_info, timeline
from krt_scoring.inputs.bundle_files import Inspection
from krt_scoring.selftest import files


def close(incarnation: str) -> dict[str, list[Any]]:
    row = {"producer": "p-0", "producer_incarnation": incarnation, "at": 1}
    return {name: [row.get(name, 0)] for name in TABLES["producer_summary"].names}


def produce(seq: int) -> dict[str, list[Any]]:
    row = {"producer": "p-0", "producer_incarnation": "i", "topic": "t", "seq": seq}
    row |= {"outcome": "acked", "scheduled_at": 100 + seq, "done_at": 200 + seq}
    numbers = {"sent_at": 1, "sent_mono": 1, "done_mono": 1}
    return {name: [(row | numbers).get(name)] for name in TABLES["produce"].names}


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    found = Bundle(tmp_path / "ns" / "t" / "uid")
    write_json(found.run_json, {})
    writer = LedgerWriter(found.table("produce"), "produce", "p-0-i")
    for seq in range(3):
        writer.write(produce(seq))
    bounds = LedgerWriter(found.table("log_end_offsets"), "log_end_offsets", "scoring")
    row: dict[str, Any] = dict.fromkeys(TABLES["log_end_offsets"].names, 0)
    row |= {"topic": "t", "isr": [0], "settled": True}
    bounds.write({name: [value] for name, value in row.items()})
    return found


def reasons(bundle: Bundle, *, deep: bool = False) -> list[tuple[str, str]]:
    found = bundle_files.inspect(bundle, deep=deep)
    return [(reason.code, reason.subject) for reason in found.reasons]


def test_inspect_intact_bundle_uses_every_file(bundle: Bundle) -> None:
    found = bundle_files.inspect(bundle)
    assert found.reasons == ()
    assert found.rows["produce"] == 3
    assert found.incarnations["produce"] == {("p-0", "i")}
    assert found.times["produce", "scheduled_at"] == (100, 102)
    assert found.left_out == frozenset()


def test_inspect_file_in_progress_is_ignored(bundle: Bundle) -> None:
    (bundle.table("produce") / "p-0-i-000003.parquet.tmp").write_bytes(b"PAR1")
    assert reasons(bundle) == []


def test_inspect_truncated_file_is_unreadable(bundle: Bundle) -> None:
    path = bundle.table("produce") / "p-0-i-000001.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert reasons(bundle) == [("FileUnreadable", "produce/p-0-i-000001.parquet")]
    found = bundle_files.inspect(bundle)
    assert found.rows["produce"] == 2
    assert found.left_out == {"produce"}
    assert "lost-write" in found.reasons[0].invalidates


def test_inspect_damage_behind_an_intact_footer_is_found_by_deep_reading(bundle: Bundle) -> None:
    path = bundle.table("produce") / "p-0-i-000001.parquet"
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(bytes(data))
    assert reasons(bundle) == []
    assert reasons(bundle, deep=True) == [("FileUnreadable", "produce/p-0-i-000001.parquet")]


def test_inspect_gap_in_numbers_is_a_missing_file(bundle: Bundle) -> None:
    (bundle.table("produce") / "p-0-i-000000.parquet").unlink()
    assert reasons(bundle) == [("FileMissing", "produce/p-0-i-000000.parquet")]


def test_inspect_needed_table_without_files_is_missing(bundle: Bundle) -> None:
    shutil.rmtree(bundle.table("produce"))
    assert reasons(bundle) == [("FileMissing", "produce")]


def test_inspect_file_with_the_same_bytes_is_counted_once(bundle: Bundle) -> None:
    folder = bundle.table("produce")
    shutil.copy(folder / "p-0-i-000001.parquet", folder / "p-0-i-000003.parquet")
    assert reasons(bundle) == [("FileDuplicated", "produce/p-0-i-000003.parquet")]
    assert bundle_files.inspect(bundle).rows["produce"] == 3


def test_inspect_other_schema_is_left_out(bundle: Bundle) -> None:
    path = bundle.table("produce") / "x.parquet"
    pq.write_table(pa.table({"producer": ["p"]}), path)
    found = bundle_files.inspect(bundle)
    assert [reason.code for reason in found.reasons] == ["SchemaDiffers"]
    assert found.reasons[0].message == "column producer_incarnation is missing"


@pytest.mark.parametrize(
    ("column", "files", "expected"),
    [
        ("run_uid", [["r", "r"], ["r"]], {"run_uid": "r"}),
        ("run_uid", [["r"], ["other"]], {}),
        ("run_uid", [["r", "other"]], {}),
        ("run_uid", [["r", None]], {}),
        ("run_uid", [[None]], {}),
        ("checksum_ok", [[True, True], [True]], {"checksum_ok": True}),
        ("checksum_ok", [[True, False]], {}),
        ("checksum_ok", [[True], [False]], {}),
        ("checksum_ok", [[True, None]], {}),
    ],
)
def test_inspect_value_equal_in_every_row_is_a_constant(
    column: str,
    files: list[list[str | bool | None]],
    expected: dict[str, str | bool],
    bundle: Bundle,
) -> None:
    folder = bundle.table("log")
    folder.mkdir()
    for number, values in enumerate(files):
        columns = {field.name: pa.nulls(len(values), field.type) for field in TABLES["log"]}
        columns[column] = pa.array(values, columns[column].type)
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")
    assert bundle_files.inspect(bundle).constants["log"] == expected


@pytest.mark.parametrize(("table", "column"), [("produce", "outcome"), ("consume", "group")])
def test_inspect_outcome_equal_in_every_row_is_a_constant(
    table: str, column: str, bundle: Bundle
) -> None:
    folder = bundle.table(table)
    for path in folder.glob("*.parquet"):
        path.unlink()
    folder.mkdir(exist_ok=True)
    columns = {field.name: pa.nulls(2, field.type) for field in TABLES[table]}
    columns[column] = pa.array(["x", "x"], pa.string())
    metadata = TABLES[table].metadata
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), folder / "0.parquet")
    assert bundle_files.inspect(bundle).constants[table] == {column: "x"}


def test_require_bundle_other_path_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NotABundleError, match="holds no evidence bundle"):
        bundle_files.require_bundle(tmp_path)
    for path in (tmp_path, tmp_path / "missing"):
        assert cli.main([str(path)]) == 2
        expected = capsys.readouterr()
        assert expected.out == ""
        assert expected.err.startswith(f"krt-score: {path}")
        assert expected.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        (json.dumps({"schemaVersion": 1}), "schemaVersion 1 cannot be read"),
        (json.dumps({"schemaVersion": 99}), "schemaVersion 99"),
        (json.dumps({"schemaVersion": 2}), "run.namespace is missing"),
    ],
)
def test_load_unusable_plan_names_the_problem(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(PlanError, match=problem):
        run_info.load(path)


LINE = '{"at":1,"mono":1,"source":"pod","event":"ready","subject":"x","detail":{}}\n'


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        (LINE + LINE[:20], "coverage", "TimelineTorn"),
        (LINE[:20] + "\n" + LINE, "evidence", "FileUnreadable"),
    ],
)
def test_read_damaged_timeline_gives_a_reason(
    tmp_path: Path, text: str, kind: str, code: str
) -> None:
    (tmp_path / "events.jsonl").write_text(text)
    found = timeline.read(tmp_path)
    assert len(found.events) == 1
    assert [(reason.kind, reason.code) for reason in found.reasons] == [(kind, code)]


def test_read_missing_timeline_gives_a_reason(tmp_path: Path) -> None:
    assert [reason.code for reason in timeline.read(tmp_path / "none").reasons] == ["FileMissing"]


@pytest.mark.parametrize("seed", range(5))
def test_files_run_damaged_copies_are_found_and_the_bundle_is_unchanged(
    bundle: Bundle, seed: int
) -> None:
    before = {path: path.read_bytes() for path in bundle.root.rglob("*.parquet")}
    expected, lacking = files.run(bundle_files.inspect(bundle), seed)
    assert [item.as_dict() for item in expected if not item.detected] == []
    assert {item.name for item in expected} == set(files.KINDS)
    assert lacking == {}
    assert {path: path.read_bytes() for path in bundle.root.rglob("*.parquet")} == before


def test_files_run_one_file_a_writer_cannot_lack_one_between(bundle: Bundle) -> None:
    for number in (1, 2):
        (bundle.table("produce") / f"p-0-i-{number:06d}.parquet").unlink()
    expected, lacking = files.run(bundle_files.inspect(bundle), 1)
    assert {item.name for item in expected} == {"torn-file", "doubled-file"}
    assert set(lacking) == {"missing-file"}


def test_assess_reads_again_without_a_damaged_file_of_a_table_that_lacks_one_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shallow = Inspection(
        Bundle(tmp_path), {"produce": (Path("a"),)}, {}, {}, {}, left_out=frozenset({"produce"})
    )
    deep = replace(shallow, files={"produce": ()})
    scored: list[Inspection] = []

    def score(_spark: object, inspection: Inspection, **_: object) -> str:
        scored.append(inspection)
        if inspection.files["produce"]:
            raise OSError("a page cannot be read")
        return "scored"

    monkeypatch.setattr("krt_scoring.pipeline.run_info.load", lambda _path: RUN)
    monkeypatch.setattr("krt_scoring.pipeline.recording.load", lambda inspection, _run: inspection)
    monkeypatch.setattr("krt_scoring.pipeline._assess", score)
    inspect = mock.Mock(return_value=deep)
    monkeypatch.setattr("krt_scoring.pipeline.bundle_files.inspect", inspect)
    assert pipeline.assess(mock.Mock(), shallow) == "scored"  # type: ignore[comparison-overlap]
    assert scored == [shallow, deep]
    inspect.return_value = shallow
    with pytest.raises(OSError, match="a page cannot be read"):
        pipeline.assess(mock.Mock(), shallow)
