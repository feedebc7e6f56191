"""A bundle of an object store as a folder, with the layout that every reader knows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from krt_contract.bundle import IN_PROGRESS_SUFFIX, make_directory
from krt_contract.object_layout import TABLE_SUFFIX, resolve

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from krt_contract.object_layout import Source
    from krt_contract.stores.store import Store

PARALLEL_FILES = 8
"""Files fetched in parallel: a small request takes a millisecond or, to a store far away, fifty."""

TRIES = 3
"""Of a bundle that is still written: a generation may be gone when it is asked for."""


def fetch(
    store: Store, bundle: str, folder: Path, names: Container[str] | None = None
) -> dict[Path, str]:
    """Copy the files of a bundle into a folder, and return of each copy of one object its key.

    Tables that are there already are not fetched again: their objects do not change.

    Args:
        store: where the bundle is.
        bundle: its key, ``<namespace>/<name>/<uid>``.
        folder: where the files go.
        names: paths within the bundle of the files to copy; None for all of them.

    Raises:
        StoreError: the store did not give all of them.
        FileNotFoundError: an object was replaced whenever it was asked for.
    """
    tries = TRIES
    while True:
        sources = [
            source
            for source in resolve(bundle, store.list(bundle))
            if names is None or source.path in names
        ]
        try:
            with ThreadPoolExecutor(PARALLEL_FILES) as pool:
                # The first exception of a copy is raised here.
                list(pool.map(lambda source: _copy(store, source, folder / source.path), sources))
        except FileNotFoundError:
            tries -= 1
            if not tries:
                raise
        else:
            return {
                folder / source.path: source.entries[0].key
                for source in sources
                if len(source.entries) == 1
            }


def _copy(store: Store, source: Source, path: Path) -> None:
    size = sum(entry.size for entry in source.entries)
    if path.suffix == TABLE_SUFFIX and path.exists() and path.stat().st_size == size:
        return
    make_directory(path.parent)
    temporary = path.with_name(path.name + IN_PROGRESS_SUFFIX)
    with temporary.open("wb") as file:
        for entry in source.entries:
            file.write(store.read(entry.key))
    temporary.replace(path)
