"""The folder on this machine that evidence is copied into."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from krt_cli.errors import CouldNotRunError
from krt_cli.evidence.results import BUNDLE
from krt_cli.evidence.transfer import PARTIAL

if TYPE_CHECKING:
    from pathlib import Path

LEDGER: Final = ".parquet"
"""Suffix of a ledger's file."""


def require_own(folder: Path, bundle: str) -> None:
    """Refuse a folder that holds anything but evidence of this run.

    Args:
        folder: may be missing or empty.
        bundle: of the run, ``<namespace>/<name>/<uid>``; only the uid is compared.

    Raises:
        CouldNotRunError: it does.
    """
    if not folder.exists():
        return
    there = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else [folder]
    if all(path.name.endswith(PARTIAL) for path in there):
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
    if uid is None and not any(folder.rglob(f"*{LEDGER}")):
        raise CouldNotRunError(
            f"{folder} is not empty and holds no evidence", "name an empty folder"
        )


def remove_stale_ledgers(folder: Path, names: set[str]) -> None:
    """Delete the files of ledgers that the bundle does not have any more.

    A file that is still written has another name than the same file once it is closed. With both,
    its rows would be there twice.

    Args:
        folder: the copy.
        names: of the bundle's files.
    """
    for path in folder.rglob(f"*{LEDGER}"):
        if str(path.relative_to(folder)) not in names:
            path.unlink()


def _uid(bundle: str) -> str:
    return bundle.rpartition("/")[2]
