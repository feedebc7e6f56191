"""Where what the brokers hold is written: into a folder, or into an object store."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Protocol

from krt_contract.bundle import DIRECTORY_MODE, make_directory, sync_directory
from krt_contract.ledger import LedgerWriter
from krt_contract.object_layout import LOG_ENDS, LOG_TABLE, SCORING_STEM, counted_attempt
from krt_contract.sinks.generations import GenerationWriter
from krt_contract.sinks.store import StoreSink

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.bundle import Bundle
    from krt_contract.sinks.sink import TableWriter
    from krt_contract.stores.store import Store


class LogPlace(Protocol):
    """Takes ``log/``, then ``log_end_offsets/``; where the latter is there, both are complete."""

    def complete(self) -> bool:
        """Return whether an attempt has written both."""

    def begin(self) -> str:
        """Return where Spark is to write the records."""

    def records(self) -> TableWriter:
        """Return what writes the records where the driver has them, after ``begin``."""

    def publish(self) -> None:
        """Make the records that were written those of the bundle."""

    def ends(self) -> TableWriter:
        """Return what writes ``log_end_offsets``, whose row group is the last to be written."""


class FolderLog:
    """In a folder: written beside ``log/`` and renamed when complete.

    Args:
        bundle: the bundle.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._final = bundle.table(LOG_TABLE)
        self._partial = self._final.with_name("log.partial")

    def complete(self) -> bool:
        """Return whether both are there; see ``LogPlace.complete``."""
        return any(self._bundle.table(LOG_ENDS).glob("*.parquet"))

    def begin(self) -> str:
        """Remove what an attempt left that ended too early; see ``LogPlace.begin``."""
        for leftover in (self._final, self._partial):
            shutil.rmtree(leftover, ignore_errors=True)
        return str(self._partial.resolve())

    def records(self) -> LedgerWriter:
        """Return the writer; see ``LogPlace.records``."""
        return LedgerWriter(self._partial, LOG_TABLE, SCORING_STEM)

    def publish(self) -> None:
        """Rename the folder; see ``LogPlace.publish``."""
        _keep_tables(self._partial)
        self._partial.chmod(DIRECTORY_MODE)
        self._partial.replace(self._final)
        sync_directory(self._final.parent)

    def ends(self) -> LedgerWriter:
        """Return the writer; see ``LogPlace.ends``."""
        make_directory(self._bundle.table(LOG_ENDS))
        return LedgerWriter(self._bundle.table(LOG_ENDS), LOG_ENDS, SCORING_STEM)


class StoreLog:
    """In an object store: below ``log/<attempt>/``, which counts once its ends name the attempt.

    Args:
        store: where it goes.
        bundle: key of the bundle.
        attempt: name of this attempt at scoring, which no other has.
    """

    def __init__(self, store: Store, bundle: str, attempt: str) -> None:
        self._store, self._bundle, self._attempt = store, bundle, attempt

    def complete(self) -> bool:
        """Return whether some attempt has written both; see ``LogPlace.complete``."""
        return counted_attempt(self._bundle, list(self._store.list(self._bundle))) is not None

    def begin(self) -> str:
        """Return the attempt's folder; see ``LogPlace.begin``."""
        return self._store.uri(self._folder)

    def records(self) -> TableWriter:
        """Return the writer; see ``LogPlace.records``."""
        patience = self._sink().patience
        return GenerationWriter(self._store, patience, self._folder, LOG_TABLE, SCORING_STEM)

    def publish(self) -> None:
        """Do nothing: the ends name the attempt; see ``LogPlace.publish``."""

    def ends(self) -> TableWriter:
        """Return the writer; see ``LogPlace.ends``."""
        return self._sink().table(LOG_ENDS, self._attempt)

    @property
    def _folder(self) -> str:
        return f"{self._bundle}/{LOG_TABLE}/{self._attempt}"

    def _sink(self) -> StoreSink:
        return StoreSink(self._store, self._bundle, lambda *_silence: None)


def _keep_tables(folder: Path) -> None:
    for path in folder.iterdir():
        if path.suffix != ".parquet":
            path.unlink()
