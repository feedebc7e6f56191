"""A bundle in an object store, as ``krt_contract.object_layout`` lays it out."""

from __future__ import annotations

import json
import threading
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from krt_contract.bundle import json_text
from krt_contract.object_layout import Part, parse_part
from krt_contract.sinks.chunks import ChunkUploader
from krt_contract.sinks.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from krt_contract.sinks.chunks import ChunkedText
    from krt_contract.sinks.generations import GenerationWriter
    from krt_contract.stores.store import Store

RUN_JSON = "run"

SECONDS = {"timeline": 1.0}
"""Seconds between two chunks of a text in a folder: a killed recorder loses no more of it."""

OTHER_SECONDS = 5.0
"""Of a log, which a recorder that is started again reads once more from where its chunks end."""


class StoreSink:
    """A bundle in an object store; every write waits for a store that is unavailable.

    Args:
        store: where it goes.
        bundle: its key, ``<namespace>/<name>/<uid>``.
        report: called with start and end (UTC microseconds) of each time that the store was
            unavailable.
    """

    def __init__(self, store: Store, bundle: str, report: Callable[[int, int], None]) -> None:
        self._store, self._bundle = store, bundle
        self.patience = Patience(store, report)
        self._uploader = ChunkUploader(self.patience)

    def table(self, name: str, stem: str) -> GenerationWriter:
        """Return a table's writer; see ``Sink.table``."""
        from krt_contract.sinks.generations import (  # noqa: PLC0415 - the recorder writes no table
            GenerationWriter,
        )

        return GenerationWriter(self._store, self.patience, f"{self._bundle}/{name}", name, stem)

    def clear(self, name: str, stem: str) -> None:
        """Delete what an earlier writer left; see ``Sink.clear``."""

        def delete() -> None:
            for entry in self._store.list(f"{self._bundle}/{name}"):
                part = parse_part(entry.key.rpartition("/")[2])
                if part is not None and part.stem == stem:
                    self._store.delete(entry.key)

        self.patience.until_done(delete)

    def lines(self, name: str) -> StoreLines:
        """Return a folder of lines; see ``Sink.lines``."""
        return StoreLines(
            self._store,
            self.patience,
            self._uploader,
            f"{self._bundle}/{name}",
            SECONDS.get(name, OTHER_SECONDS),
        )

    def run_json(self) -> StoreDocument:
        """Return ``run.json``; see ``Sink.run_json``."""
        return StoreDocument(self._store, self.patience, self._bundle, RUN_JSON)


class StoreLines:
    """A folder of texts in chunks; see ``LineFolder``.

    Args:
        store: where they are.
        patience: waits for it.
        uploader: writes chunks.
        folder: their key.
        interval: seconds between two chunks of a text.
    """

    def __init__(
        self,
        store: Store,
        patience: Patience,
        uploader: ChunkUploader,
        folder: str,
        interval: float,
    ) -> None:
        self._store, self._patience = store, patience
        self._uploader, self._folder = uploader, folder
        self._interval = interval
        self._lock = threading.Lock()
        self._texts: dict[str, ChunkedText] = {}

    def open(self, name: str) -> ChunkedText:
        """Return a text's writer; see ``LineFolder.open``.

        Whoever opens it a second time gets the same: chunks are numbered in one place.
        """
        path = PurePosixPath(name)
        with self._lock:
            if name not in self._texts:
                first = 1 + max((part.number for part in self._chunks(name)), default=-1)
                self._texts[name] = self._uploader.open(
                    f"{self._folder}/{path.stem}", path.suffix, first, self._interval
                )
            return self._texts[name]

    def drop_torn_line(self, name: str) -> None:
        """Do nothing: a chunk is stored whole; see ``LineFolder.drop_torn_line``."""

    def names(self) -> list[str]:
        """Return the texts' names; see ``LineFolder.names``."""
        return sorted({part.stem + part.suffix for part in self._parts()})

    def tail(self, name: str, size: int) -> tuple[bytes, bool]:
        """Return the end of a text, in whole chunks; see ``LineFolder.tail``."""
        found = b""
        chunks = {part.number: part for part in sorted(self._chunks(name))}
        left = sorted(chunks)
        while left and len(found) < size:
            key = f"{self._folder}/{chunks[left.pop()].name}"
            found = self._patience.until_done(lambda key=key: self._store.read(key)) + found  # type: ignore[misc]
        return found, bool(left)

    def _chunks(self, name: str) -> Iterator[Part]:
        return (part for part in self._parts() if part.stem + part.suffix == name)

    def _parts(self) -> list[Part]:
        entries = self._patience.until_done(lambda: list(self._store.list(self._folder)))
        found = (parse_part(entry.key.rpartition("/")[2]) for entry in entries)
        return [part for part in found if part is not None]


class StoreDocument:
    """A JSON document in generations; see ``Document``. Used by several threads.

    Args:
        store: where it goes.
        patience: waits for it.
        folder: its key.
        stem: its name without suffix.
    """

    def __init__(self, store: Store, patience: Patience, folder: str, stem: str) -> None:
        self._store, self._patience = store, patience
        self._folder, self._stem = folder, stem
        self._lock = threading.Lock()
        self._keys: Iterator[str] | None = None

    def read(self) -> dict[str, Any]:
        """Return the last generation; see ``Document.read``."""
        found: dict[str, Any] = json.loads(self._patience.until_done(self._last))
        return found

    def write(self, value: dict[str, Any]) -> None:
        """Write the next generation; see ``Document.write``."""
        with self._lock:
            if self._keys is None:
                self._keys = self._generations(self._patience.until_done(self._first))
            self._patience.put(self._keys, json_text(value).encode())

    def _first(self) -> int:
        """Return a generation above those that an earlier recorder wrote."""
        return 1 + max((part.generation for part in self._parts()), default=-1)

    def _last(self) -> bytes:
        last = max(self._parts(), default=None)
        return b"{}" if last is None else self._store.read(f"{self._folder}/{last.name}")

    def _parts(self) -> list[Part]:
        entries = self._store.list(self._folder)
        parts = (parse_part(entry.key.rpartition("/")[2]) for entry in entries)
        return [part for part in parts if part and part.stem == self._stem]

    def _generations(self, generation: int) -> Iterator[str]:
        while True:
            yield f"{self._folder}/{Part(self._stem, 0, generation, '.json').name}"
            generation += 1
