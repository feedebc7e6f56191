"""A bundle in a folder, as ``krt_contract.bundle`` lays it out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_contract.bundle import Bundle, write_json
from krt_contract.sinks.lines import FolderLines

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.ledger import LedgerWriter


class FileDocument:
    """A JSON file.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        """Return what was written last; see ``Document.read``."""
        try:
            found: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found

    def write(self, value: dict[str, Any]) -> None:
        """Write it as a whole; see ``Document.write``."""
        write_json(self._path, value)


class FolderSink:
    """A bundle in a folder.

    Args:
        root: the directory ``<namespace>/<name>/<uid>``.
    """

    def __init__(self, root: Path) -> None:
        self._bundle = Bundle(root)

    def table(self, name: str, stem: str) -> LedgerWriter:
        """Return a table's writer; see ``Sink.table``."""
        from krt_contract.ledger import LedgerWriter  # noqa: PLC0415 - the recorder has no Arrow

        return LedgerWriter(self._bundle.table(name), name, stem)

    def clear(self, name: str, stem: str) -> None:
        """Delete what an earlier writer left; see ``Sink.clear``."""
        for old in self._bundle.table(name).glob(f"{stem}-*.parquet"):
            old.unlink()

    def lines(self, name: str) -> FolderLines:
        """Return a folder of lines; see ``Sink.lines``."""
        return FolderLines(self._bundle.root / name)

    def run_json(self) -> FileDocument:
        """Return ``run.json``; see ``Sink.run_json``."""
        return FileDocument(self._bundle.run_json)
