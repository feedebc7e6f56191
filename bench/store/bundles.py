"""A generated history as a bundle in an object store, in the layout that pods and scoring write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from krt_contract.object_layout import LOG_ENDS, LOG_TABLE, TABLE_SUFFIX, Part
from krt_contract.sinks.generations import encode

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.stores.store import Store

ATTEMPT = "attempt"
"""The one that read the topics."""


def upload(bundle: Path, store: Store, key: str) -> None:
    """Put the files of a bundle into a store, each as one object.

    Args:
        bundle: a folder.
        store: where they go.
        key: of the bundle there.
    """
    ends = []
    for path in sorted(path for path in bundle.rglob("*") if path.is_file()):
        folder, name = path.relative_to(bundle).parent.as_posix(), path.name
        if folder == LOG_ENDS:
            # An attempt writes one file of them; a generated history has one for each topic.
            ends.append(pq.read_table(path))
            continue
        if folder == LOG_TABLE:
            name = f"{ATTEMPT}/{name}"
        elif path.suffix == TABLE_SUFFIX:
            name = Part(path.stem, 0, 0, TABLE_SUFFIX).name
        store.put(f"{key}/{path.relative_to(bundle).parent / name}", path.read_bytes())
    if ends:
        last = Part(ATTEMPT, 0, 0, TABLE_SUFFIX).name
        store.put(f"{key}/{LOG_ENDS}/{last}", encode(pa.concat_tables(ends)))
