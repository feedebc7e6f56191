"""Where the driver Job finds the evidence and leaves the result: a volume, or an object store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from krt_contract.bundle import Bundle
from krt_contract.fetch import fetch
from krt_contract.stores.objects import ObjectStore
from krt_scoring.engine import executor_files
from krt_scoring.errors import StoreReadError
from krt_scoring.inputs import bundle_files
from krt_scoring.inputs.log_places import FolderLog, StoreLog

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from krt_contract.stores.settings import ObjectStoreSettings
    from krt_contract.stores.store import Store
    from krt_scoring.inputs.bundle_files import Inspection
    from krt_scoring.inputs.log_places import LogPlace


SENT_BYTES = 32 * 2**20
"""Up to so many bytes of tables are sent to the executors, which else read them from the store."""


class EvidencePlace(Protocol):
    """One run's evidence.

    Attributes:
        bundle: the bundle, as the driver reads it.
    """

    bundle: Bundle

    def inspect(self) -> Inspection:
        """Look at the bundle's files; see ``bundle_files.inspect``.

        Raises:
            StoreReadError: an object store did not give all of them.
            NotABundleError: there is no such bundle.
        """

    def spread(self, spark: SparkSession, inspected: Inspection) -> Inspection:
        """Return the files as the executors of a session can best read them.

        Args:
            spark: the session, on a cluster.
            inspected: what ``inspect`` returned.

        Raises:
            OSError: copies for the executors could not be made.
        """

    def log(self, attempt: str) -> LogPlace:
        """Return where what the brokers hold goes.

        Args:
            attempt: name of this attempt at scoring, which no other has.
        """

    def keep(self, results: Iterable[Path]) -> None:
        """Make files of ``bundle`` that scoring wrote part of the evidence.

        Raises:
            OSError: an object store did not take them.
        """


def of(store: ObjectStoreSettings | None, folder: Path, key: str) -> EvidencePlace:
    """Return the place of a run's evidence.

    Args:
        store: the object store; None where the evidence is on a volume.
        folder: where the volume is mounted, or an empty folder for a copy.
        key: the bundle, ``<namespace>/<name>/<uid>``.
    """
    if store is None:
        return FolderPlace(folder / key)
    return StorePlace(ObjectStore(store), key, folder)


class FolderPlace:
    """Evidence on a volume; see ``EvidencePlace``.

    Args:
        root: of the bundle.
    """

    def __init__(self, root: Path) -> None:
        self.bundle = Bundle(root)

    def inspect(self) -> Inspection:
        """Look at the files; see ``EvidencePlace.inspect``."""
        return bundle_files.inspect(bundle_files.require_bundle(self.bundle.root))

    def spread(self, spark: SparkSession, inspected: Inspection) -> Inspection:  # noqa: ARG002
        """Return them as they are: executors mount the volume; see ``EvidencePlace.spread``."""
        return inspected

    def log(self, attempt: str) -> FolderLog:  # noqa: ARG002 - a later attempt replaces an earlier
        """Return the bundle's own folder; see ``EvidencePlace.log``."""
        return FolderLog(self.bundle)

    def keep(self, results: Iterable[Path]) -> None:
        """Do nothing: they are there; see ``EvidencePlace.keep``."""


class StorePlace:
    """Evidence in an object store, and a copy of it; see ``EvidencePlace``.

    The driver reads everything but the tables' rows, so it copies the bundle and looks at it as at
    any other. Executors read the rows from the store, or get copies where they are few.

    Args:
        store: where it is.
        key: of the bundle.
        folder: an empty folder for the copy; the executors' working directory.
    """

    def __init__(self, store: Store, key: str, folder: Path) -> None:
        self._store, self._key, self._folder = store, key, folder
        self.bundle = Bundle(folder / key)

    def inspect(self) -> Inspection:
        """Copy what is new, and look at the files; see ``EvidencePlace.inspect``."""
        try:
            keys = fetch(self._store, self._key, self.bundle.root)
        except OSError as error:
            raise StoreReadError(f"the evidence cannot be read: {error}") from error
        found = bundle_files.inspect(bundle_files.require_bundle(self.bundle.root))
        return replace(found, uris={path: self._store.uri(key) for path, key in keys.items()})

    def spread(self, spark: SparkSession, inspected: Inspection) -> Inspection:
        """Send small tables to the executors; see ``EvidencePlace.spread``."""
        files = [path for paths in inspected.files.values() for path in paths]
        if not files or sum(path.stat().st_size for path in files) > SENT_BYTES:
            return inspected
        executor_files.send(spark, self._folder, files)
        return replace(inspected, uris={})

    def log(self, attempt: str) -> StoreLog:
        """Return a folder of the attempt's own; see ``EvidencePlace.log``."""
        return StoreLog(self._store, self._key, attempt)

    def keep(self, results: Iterable[Path]) -> None:
        """Store them; see ``EvidencePlace.keep``."""
        for path in results:
            if path.exists():
                name = path.relative_to(self.bundle.root).as_posix()
                # Results can be made again, and the same evidence gives the same bytes.
                self._store.replace(f"{self._key}/{name}", path.read_bytes())
