"""Folders of files that lines are appended to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from krt_contract.bundle import make_directory

if TYPE_CHECKING:
    from krt_contract.sinks.sink import LineFolder

FILE_MODE = 0o664
"""Files of a bundle belong to group 0, whatever uid the cluster gives each pod."""


class FileLines:
    """Appends to one file, which nobody else writes.

    A line is written in one call, so a killed writer leaves at most one torn last line, which
    readers report rather than skip in silence. A volume that fills up leaves none.

    Args:
        path: of the file; made where it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE)

    def write(self, data: bytes) -> None:
        """Append lines; see ``LineWriter.write``."""
        append(self._descriptor, data)

    def sync(self) -> None:
        """Make everything durable; see ``LineWriter.sync``."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Make everything durable and close the file; errors as of ``sync``."""
        try:
            self.sync()
        finally:
            os.close(self._descriptor)


def append(descriptor: int, data: bytes) -> None:
    """Append ``data`` to a file wholly or not at all; nobody else may write to it.

    A volume that fills up takes a part of it and refuses the rest.

    Raises:
        OSError: the volume refused.
    """
    end = os.fstat(descriptor).st_size
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError:
        if written:
            os.ftruncate(descriptor, end)
        raise


class FolderLines:
    """A folder of files that lines are appended to.

    Args:
        folder: made when its first file is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, name: str) -> FileLines:
        """Return a file's writer; see ``LineFolder.open``."""
        make_directory(self._folder)
        return FileLines(self._folder / name)

    def drop_torn_line(self, name: str) -> None:
        """Cut off half a line; see ``LineFolder.drop_torn_line``."""
        path = self._folder / name
        data = path.read_bytes() if path.exists() else b""
        if data and not data.endswith(b"\n"):
            os.truncate(path, data.rfind(b"\n") + 1)

    def names(self) -> list[str]:
        """Return the files' names; see ``LineFolder.names``."""
        return sorted(path.name for path in self._folder.glob("*"))

    def tail(self, name: str, size: int) -> tuple[bytes, bool]:
        """Return the end of a file; see ``LineFolder.tail``."""
        path = self._folder / name
        if not path.exists():
            return b"", False
        with path.open("rb") as handle:
            skipped = max(0, path.stat().st_size - size)
            handle.seek(skipped)
            return handle.read(), bool(skipped)


def line_folder(folder: LineFolder | Path) -> LineFolder:
    """Return a folder of lines, which may be given by its path."""
    return FolderLines(folder) if isinstance(folder, Path) else folder
