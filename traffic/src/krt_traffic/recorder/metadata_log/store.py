"""The committed records in the bundle."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from krt_contract.metadata_log.files import parse_log
from krt_contract.sinks.lines import line_folder
from krt_traffic.recorder.failures import writing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from krt_contract.metadata_log.record import LogRecord
    from krt_contract.sinks.sink import LineFolder


class LogStore:
    """Appends to ``metadata_log/<incarnation>.jsonl``; a restarted recorder continues its file.

    Args:
        folder: the bundle's folder of the metadata log, or a path to where it is.
        incarnation: the recorder's pod uid.

    Attributes:
        known: what recorders before this one stored, from the log's first record on without a gap.

    Raises:
        RecordingError: the folder cannot be read or written.
    """

    def __init__(self, folder: LineFolder | Path, incarnation: str) -> None:
        name = f"recorder-{incarnation}.jsonl"
        self._name = f"metadata_log/{name}"
        texts = line_folder(folder)
        with writing(self._name):
            # What follows must begin a new line.
            texts.drop_torn_line(name)
            stored = parse_log((each, texts.tail(each, sys.maxsize)[0]) for each in texts.names())
            self._file = texts.open(name)
        self.known: tuple[LogRecord, ...] = tuple(
            record for record in stored.records if record.offset < stored.end
        )

    def append(self, records: Iterable[LogRecord]) -> None:
        """Append committed records.

        Raises:
            RecordingError: they could not be written; none of them is in the file.
        """
        lines = "".join(record.line() for record in records)
        with writing(self._name):
            self._file.write(lines.encode("utf-8"))

    def close(self) -> None:
        """Make everything durable and close the file.

        Raises:
            RecordingError: records that had been taken are lost.
        """
        with writing(self._name):
            self._file.close()
