"""``krt-score`` where what it scores has no place to go: one line and the remedy, no traceback."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from krt_scoring import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("krt-score: ")
    assert told.err.count("\n") == 1
    return told.err


@pytest.fixture
def bundle(folder: Path) -> Path:
    (folder / "run.json").write_text("{}")
    folder.chmod(0o555)
    return folder


@pytest.mark.usefixtures("unprivileged")
def test_a_bundle_that_is_only_to_be_read(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, str(bundle))
    assert f"{bundle} cannot be written to (Permission denied)" in told
    assert "--out FILE" in told


@pytest.fixture
def history(folder: Path) -> Path:
    """Output of other tools with settings that cannot be used, which no Spark is needed to say."""
    (folder / "producer-1.jsonl").write_text('{"timestamp":1,"name":"startup_complete"}\n')
    (folder / "history.json").write_text("[]")
    folder.chmod(0o555)
    return folder


@pytest.mark.usefixtures("unprivileged")
def test_a_history_that_is_only_to_be_read(
    history: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(capsys, "--from", "verifiable", str(history))
    assert f"{history} cannot be written to (Permission denied)" in told
    assert "--out FILE" in told


@pytest.mark.parametrize(
    ("out", "why"),
    [
        (".", "is a directory: name a file"),
        ("run.json/card.json", "cannot be written (Not a directory)"),
    ],
)
def test_a_place_that_no_file_can_have(
    bundle: Path, out: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(capsys, str(bundle), "--out", str(bundle / out))
    assert why in told
    assert "--out FILE" in told
