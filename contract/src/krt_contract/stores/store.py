"""What an evidence store does, whichever it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


class StoreError(OSError):
    """The store did not do what it was asked; whether it was done all the same is not known."""


class KeyExistsError(FileExistsError):
    """A key is written once: what it holds is evidence."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} is in the store already, and no key is written twice")


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A key of a store and the size of what it holds, in bytes."""

    key: str
    size: int


class Store(Protocol):
    """Keys with bytes; a key is a path without a leading slash: ``ns/test/uid/run.json``."""

    def put(self, key: str, data: bytes) -> None:
        """Store ``data``; durable on return, and never seen in part.

        Raises:
            KeyExistsError: the key is there already.
            StoreError: the store refused or did not answer. It may take the data all the same,
                also later: whoever tries again takes another key.
        """

    def replace(self, key: str, data: bytes) -> None:
        """Store ``data`` under a key that may be there: for results, which can be made again.

        Raises:
            StoreError: as of ``put``.
        """

    def read(self, key: str) -> bytes:
        """Return what a key holds.

        Raises:
            FileNotFoundError: there is no such key.
            StoreError: the store refused or did not answer.
        """

    def list(self, prefix: str) -> Iterator[Entry]:
        """Yield every key below ``prefix``, a folder without a trailing slash, in order of keys.

        Raises:
            StoreError: the store refused or did not answer.
        """

    def open(self, key: str) -> pa.NativeFile:
        """Open a key to read parts of it.

        Raises:
            FileNotFoundError: there is no such key.
            StoreError: the store refused or did not answer.
        """

    def delete(self, key: str) -> None:
        """Delete a key; nothing where it is not there.

        Raises:
            StoreError: the store refused or did not answer.
        """

    def uri(self, key: str) -> str:
        """Return the address by which Spark reads a key or a folder of keys."""
