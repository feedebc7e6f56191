"""The committed records in the bundle."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from krt_contract.bundle import make_directory
from krt_contract.metadata_log.files import read_log
from krt_contract.sinks.lines import append
from krt_traffic.recorder.failures import writing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from krt_contract.metadata_log.record import LogRecord

FILE_MODE = 0o664
"""Files of a bundle belong to group 0, whatever uid the cluster gives each pod."""


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
        self._path = folder / f"recorder-{incarnation}.jsonl"
        with writing(str(self._path)):
            make_directory(folder)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
            self._descriptor = os.open(self._path, flags, FILE_MODE)
            self._drop_torn_line()
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
        with writing(str(self._path)):
            append(self._descriptor, lines.encode("utf-8"))

    def close(self) -> None:
        """Make everything durable and close the file.

        Raises:
            RecordingError: the volume lost records that it had taken.
        """
        with writing(str(self._path)):
            try:
                os.fsync(self._descriptor)
            finally:
                os.close(self._descriptor)

    def _drop_torn_line(self) -> None:
        """Cut off what a killed recorder left of a line: what follows must begin a new one."""
        data = self._path.read_bytes()
        if data and not data.endswith(b"\n"):
            os.ftruncate(self._descriptor, data.rfind(b"\n") + 1)
