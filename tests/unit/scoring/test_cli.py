"""``krt-score`` where the outputs cannot be written: one line and the remedy, no traceback."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from krt_contract.sinks.store import StoreSink
from krt_contract.stores.folder import FolderStore
from krt_scoring import cli
from krt_scoring.inputs import evidence_places
from krt_scoring.pipeline import without_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_contract.stores.settings import ObjectStoreSettings
    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.pipeline import Assessment

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that everybody may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="krt-test-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Modes do not hold root back."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(before)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(arguments) == cli.EXIT_NO_BUNDLE
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("krt-score: ")
    assert output.err.count("\n") == 1
    return output.err


@pytest.fixture
def bundle(folder: Path) -> Path:
    (folder / "run.json").write_text("{}")
    folder.chmod(0o555)
    return folder


@pytest.mark.usefixtures("unprivileged")
def test_main_with_a_read_only_bundle_names_the_remedy(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, str(bundle))
    assert f"{bundle} cannot be written to (Permission denied)" in line
    assert "--out FILE" in line


@pytest.mark.parametrize("version", [1, 3])
def test_main_with_a_bundle_of_another_version_is_refused_by_name(
    folder: Path, version: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run.json").write_text(f'{{"schemaVersion": {version}}}')
    line = refused(capsys, str(folder))
    assert f"the bundle has schema version {version}" in line
    assert "this release reads version 2 only" in line
    assert "score it with the release that recorded it, or run the test again" in line
    assert [path.name for path in folder.iterdir()] == ["run.json"]


@pytest.fixture
def history(folder: Path) -> Path:
    """Output of other tools with unusable settings, which are refused before Spark starts."""
    (folder / "producer-1.jsonl").write_text('{"timestamp":1,"name":"startup_complete"}\n')
    (folder / "history.json").write_text("[]")
    folder.chmod(0o555)
    return folder


def test_main_with_several_bundles_and_one_out_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([str(folder), str(folder), "--out", str(folder / "card.json")])
    assert ended.value.code == cli.EXIT_NO_BUNDLE
    assert "--out takes the scorecard of one bundle" in capsys.readouterr().err


def test_main_with_several_bundles_gives_each_its_line_and_the_worst_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Settings that cannot be used give a verdict before Spark starts."""
    for name in ("first", "last"):
        (folder / name).mkdir()
        (folder / name / "history.json").write_text("[]")
        line = '{"timestamp":1,"name":"startup_complete"}\n'
        (folder / name / "producer-1.jsonl").write_text(line)
    paths = [str(folder / name) for name in ("first", "missing", "last")]
    assert cli.main(["--from", "verifiable", *paths]) == cli.EXIT_NO_BUNDLE
    output = capsys.readouterr()
    assert [line.split(": ")[:2] for line in output.out.splitlines()] == [
        [paths[0], "Inconclusive"],
        [paths[2], "Inconclusive"],
    ]
    assert paths[1] in output.err
    assert output.err.count("\n") == 1
    for name in ("first", "last"):
        assert (folder / name / "scorecard.json").is_file()


@pytest.mark.usefixtures("unprivileged")
def test_main_with_a_read_only_history_names_the_remedy(
    history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, "--from", "verifiable", str(history))
    assert f"{history} cannot be written to (Permission denied)" in line
    assert "--out FILE" in line


@pytest.mark.parametrize(
    ("out", "why"),
    [
        (".", "is a directory: name a file"),
        ("run.json/card.json", "cannot be written (Not a directory)"),
    ],
)
def test_main_with_an_impossible_out_names_the_remedy(
    bundle: Path, out: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, str(bundle), "--out", str(bundle / out))
    assert why in line
    assert "--out FILE" in line


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStore:
    """An object store with a bundle, whatever store is named, and scoring without Spark."""
    store = FolderStore(tmp_path / "objects")
    StoreSink(store, "ns/test/uid", lambda *_: None).run_json().write({"schemaVersion": 2})
    opened: list[ObjectStoreSettings] = []

    def open_store(settings: ObjectStoreSettings) -> FolderStore:
        opened.append(settings)
        return store

    def score(inspected: Inspection, *_: object) -> Assessment:
        (settings,) = opened
        assert (settings.bucket, settings.prefix) == ("evidence", "krt")
        assert (settings.endpoint, settings.path_style) == ("https://127.0.0.1:9000", True)
        assert settings.ca_file == "ca.crt"
        return without_plan(inspected.bundle, "not scored here")

    monkeypatch.setattr(evidence_places, "ObjectStore", open_store)
    monkeypatch.setattr(cli, "_score_inspected", score)
    return store


STORED = (
    "s3://evidence/krt/ns/test/uid",
    "--endpoint",
    "https://127.0.0.1:9000",
    "--ca-file",
    "ca.crt",
)


def test_main_with_a_bundle_of_a_store_puts_its_results_beside_it(objects: FolderStore) -> None:
    assert cli.main(STORED) == cli.EXIT_SCORED
    names = {entry.key.rpartition("/")[2] for entry in objects.list("ns/test/uid")}
    assert {"scorecard.json", "report.html", "junit.xml", "summary.md"} <= names
    card = json.loads(objects.read("ns/test/uid/scorecard.json"))
    assert (card["run"]["namespace"], card["run"]["name"]) == ("ns", "test")


def test_main_with_a_bundle_of_a_store_and_out_writes_nothing_into_it(
    objects: FolderStore, tmp_path: Path
) -> None:
    before = list(objects.list(""))
    assert cli.main([*STORED, "--out", str(tmp_path / "card.json")]) == cli.EXIT_SCORED
    assert list(objects.list("")) == before
    assert (tmp_path / "card.json").exists()


@pytest.mark.usefixtures("objects")
def test_main_with_a_bundle_that_the_store_has_not_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = refused(capsys, "s3://evidence/krt/ns/other/uid", *STORED[1:])
    assert "no such directory" in line


def test_main_with_an_address_without_a_run_names_its_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "s3://<bucket>/<prefix, if any>/" in refused(capsys, "s3://evidence/ns/test")


def test_main_with_an_endpoint_that_is_no_url_names_the_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = refused(capsys, "s3://evidence/ns/test/uid", "--endpoint", "store:9000")
    assert "write it like https://" in line
