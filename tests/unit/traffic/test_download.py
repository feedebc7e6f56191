from __future__ import annotations

from typing import TYPE_CHECKING

from krt_traffic import download

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class Empty:
    """A store without an object."""

    def list(self, _prefix: str) -> list[object]:
        return []


def test_download_of_named_files_that_are_not_there_leaves_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "require_store", lambda _: Empty())
    folder = tmp_path / "ns/t/u"
    assert download.main(["ns/t/u", str(folder), "report.html"]) == 0
    assert list(folder.iterdir()) == []
    assert download.main(["ns/t/u", str(tmp_path / "all")]) == 0
    assert not (tmp_path / "all").exists()
