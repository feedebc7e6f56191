"""The committed records in the bundle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from krt_contract.bundle import make_directory
from krt_contract.metadata_log.files import read_log
from krt_contract.sinks.lines import FileLines
from krt_traffic.recorder.failures import writing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from krt_contract.metadata_log.record import LogRecord


class LogStore:
    """Appends to ``metadata_log/<incarnation>.jsonl``; a restarted recorder continues its file.

    Args:
        folder: the bundle's folder of the metadata log.
        incarnation: the recorder's pod uid.

    Attributes:
        known: what recorders before this one stored, from the log's first record on without a gap.

    Raises:
        RecordingError: the folder cannot be read or written.
    """

    def __init__(self, folder: Path, incarnation: str) -> None:
        path = folder / f"recorder-{incarnation}.jsonl"
        self._name = str(path)
        with writing(self._name):
            make_directory(folder)
            _drop_torn_line(path)
            self._file = FileLines(path)
            stored = read_log(folder)
        self.known: tuple[LogRecord, ...] = tuple(
            record for record in stored.records if record.offset < stored.end
        )

    def append(self, records: Iterable[LogRecord]) -> None:
        """Append committed records.

        Raises:
            RecordingError: the volume refused them; none of them is in the file.
        """
        lines = "".join(record.line() for record in records)
        with writing(self._name):
            self._file.write(lines.encode("utf-8"))

    def close(self) -> None:
        """Make everything durable and close the file.

        Raises:
            RecordingError: the volume lost records that it had taken.
        """
        with writing(self._name):
            self._file.close()


def _drop_torn_line(path: Path) -> None:
    """Cut off what a killed recorder left of a line: what follows must begin a new one."""
    data = path.read_bytes() if path.exists() else b""
    if data and not data.endswith(b"\n"):
        os.truncate(path, data.rfind(b"\n") + 1)
