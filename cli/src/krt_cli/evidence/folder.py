"""The folder on this machine that evidence is copied into."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krt_cli.errors import CouldNotRunError
from krt_cli.evidence.results import BUNDLE

if TYPE_CHECKING:
    from pathlib import Path


def require_own(folder: Path, bundle: str) -> None:
    """Refuse a folder that holds anything but evidence of this run.

    Args:
        folder: may be missing or empty.
        bundle: of the run, ``<namespace>/<name>/<uid>``; only the uid is compared.

    Raises:
        CouldNotRunError: it does.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    uid = None
    try:
        run = json.loads((folder / BUNDLE.run_json.name).read_text(encoding="utf-8"))
        uid = _uid(str(run["bundle"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass
    if uid is not None and uid != _uid(bundle):
        raise CouldNotRunError(
            f"{folder} holds the evidence of another run", "name an empty folder"
        )
    if uid is None and not any(folder.rglob("*.parquet")):
        raise CouldNotRunError(
            f"{folder} is not empty and holds no evidence", "name an empty folder"
        )


def _uid(bundle: str) -> str:
    return bundle.rpartition("/")[2]
