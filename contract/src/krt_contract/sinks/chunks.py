"""Lines in an object store: numbered chunks, because nothing can be appended there."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from krt_contract.object_layout import Part
from krt_contract.stores.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_contract.sinks.patience import Patience

log = logging.getLogger(__name__)

TICK_SECONDS = 0.5
"""How often it is looked whether a chunk is due."""

CHUNK_BYTES = 256 * 1024
"""Size at which a chunk is written before its time."""

WAITING_BYTES = 64 * 1024 * 1024
"""What may wait for a store that is unavailable; the recorder has 256 MiB."""


class ChunkUploader:
    """Puts what was written to its texts into a store, in a thread of its own.

    Args:
        patience: waits for the store.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._changed = threading.Condition()
        self._texts: list[ChunkedText] = []
        self._waiting = 0
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="chunks", daemon=True)

    def open(self, path: str, suffix: str, first: int, interval: float) -> ChunkedText:
        """Return a text that begins with chunk number ``first``.

        Args:
            path: key of the text, without number and suffix.
            suffix: of the key, with its dot.
            first: above the numbers that are there.
            interval: seconds between two chunks, which is what a kill loses of it at most.
        """
        with self._changed:
            text = ChunkedText(self, path, suffix, first, interval)
            self._texts.append(text)
            if not self._thread.is_alive():
                self._thread.start()
            return text

    def take(self, text: ChunkedText, data: bytes) -> None:
        """Take lines of a text; they are durable after ``sync``.

        Raises:
            StoreError: the store has been unavailable for too long.
        """
        with self._changed:
            self._check()
            if self._waiting + len(data) > WAITING_BYTES:
                raise StoreError(
                    f"the evidence store is unavailable, and {WAITING_BYTES >> 20} MiB wait for it "
                    "already. Make it available and run the test again"
                )
            text.pending.append(data)
            text.size += len(data)
            self._waiting += len(data)
            if text.size >= CHUNK_BYTES:
                self._changed.notify_all()

    def sync(self, text: ChunkedText) -> None:
        """Return when everything that was taken of a text is durable.

        Raises:
            StoreError: it never will be.
        """
        with self._changed:
            text.awaited = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._failure is not None or not text.size)
            self._check()

    def _check(self) -> None:
        if self._failure is not None:
            raise StoreError(f"chunks are no longer written: {self._failure!r}") from self._failure

    def _run(self) -> None:
        try:
            while True:
                self._upload_due()
                with self._changed:
                    self._changed.wait_for(self._urgent, TICK_SECONDS)
        except Exception as failure:
            log.exception("what is written as chunks is no longer stored")
            with self._changed:
                self._failure = failure
                self._changed.notify_all()

    def _urgent(self) -> bool:
        return any(text.urgent for text in self._texts)

    def _upload_due(self) -> None:
        now = time.monotonic()
        with self._changed:
            texts = [text for text in self._texts if text.size and (text.urgent or text.due <= now)]
        for text in texts:
            with self._changed:
                data, text.pending, text.awaited = b"".join(text.pending), [], False
            self._patience.put(text.keys(), data)
            text.due = time.monotonic() + text.interval
            with self._changed:
                text.number += 1
                text.size -= len(data)
                self._waiting -= len(data)
                self._changed.notify_all()


class ChunkedText:
    """A text that lines are appended to; see ``LineWriter``. Made by ``ChunkUploader.open``.

    Attributes:
        pending: what was written since the last chunk.
        size: bytes that are not durable yet.
        awaited: whether somebody waits for them.
        number: of the next chunk.
        interval: seconds between two chunks.
        due: when the next chunk is due, by the monotonic clock, in seconds.
    """

    def __init__(
        self, uploader: ChunkUploader, path: str, suffix: str, first: int, interval: float
    ) -> None:
        self._uploader, self._path, self._suffix = uploader, path, suffix
        self.interval = interval
        self.due = time.monotonic() + interval
        self.pending: list[bytes] = []
        self.size = 0
        self.awaited = False
        self.number = first

    @property
    def urgent(self) -> bool:
        """Whether a chunk is to be written before its time."""
        return bool(self.size) and (self.awaited or self.size >= CHUNK_BYTES)

    def write(self, data: bytes) -> None:
        """Append lines; see ``LineWriter.write``."""
        self._uploader.take(self, data)

    def sync(self) -> None:
        """Make everything durable; see ``LineWriter.sync``."""
        self._uploader.sync(self)

    def close(self) -> None:
        """Make everything durable; see ``LineWriter.close``."""
        self.sync()

    def keys(self) -> Iterator[str]:
        """Yield the keys of the next chunk's generations."""
        folder, _, stem = self._path.rpartition("/")
        generation = 0
        while True:
            name = Part(stem, self.number, generation, self._suffix).name
            yield f"{folder}/{name}"
            generation += 1
