"""A folder as an evidence store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_contract.bundle import IN_PROGRESS_SUFFIX, make_directory, publish, sync_directory
from krt_contract.stores.store import Entry, KeyExistsError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa


class FolderStore:
    """A folder, by custom of a volume that all pods of a run mount; keys are paths below it.

    Whoever writes a key is the only one to do so: two at once are not told apart.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, key: str, data: bytes) -> None:
        """Store data; see ``Store.put``."""
        if (self._root / key).exists():
            raise KeyExistsError(key)
        self.replace(key, data)

    def replace(self, key: str, data: bytes) -> None:
        """Store data under a key that may be there; see ``Store.replace``."""
        path = self._root / key
        temporary = path.with_name(path.name + IN_PROGRESS_SUFFIX)
        try:
            make_directory(path.parent)
            temporary.write_bytes(data)
            publish(temporary, path)
        except OSError as error:
            raise _refused(key, error) from error

    def read(self, key: str) -> bytes:
        """Return what a key holds; see ``Store.read``."""
        try:
            return (self._root / key).read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _refused(key, error) from error

    def list(self, prefix: str) -> Iterator[Entry]:
        """Yield the keys below a folder; see ``Store.list``."""
        found = sorted(path for path in (self._root / prefix).rglob("*") if path.is_file())
        for path in found:
            if path.suffix != IN_PROGRESS_SUFFIX:
                yield Entry(path.relative_to(self._root).as_posix(), path.stat().st_size)

    def open(self, key: str) -> pa.NativeFile:
        """Open a key; see ``Store.open``."""
        import pyarrow as pa  # noqa: PLC0415 - a folder is read and written without Arrow

        return pa.OSFile(str(self._root / key))

    def delete(self, key: str) -> None:
        """Delete a key; see ``Store.delete``."""
        path = self._root / key
        try:
            path.unlink()
            sync_directory(path.parent)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _refused(key, error) from error

    def uri(self, key: str) -> str:
        """Return the path of a key; see ``Store.uri``."""
        return str((self._root / key).resolve())


def _refused(key: str, error: OSError) -> StoreError:
    return StoreError(
        error.errno,
        f"the evidence volume refused {key} ({error.strerror or error}). Check the free space and "
        "the permissions of the claim in spec.evidence",
    )
