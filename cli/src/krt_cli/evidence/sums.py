"""The file SHA256SUMS beside copied evidence, in the format of sha256sum."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from krt_cli.errors import CouldNotRunError
from krt_cli.evidence.results import OUTPUTS
from krt_contract.short_list import short_list

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from krt_cli.evidence.transfer import RemoteFile

NAME: Final = "SHA256SUMS"

NAMED: Final = 3
"""Files that an error names; the others are counted."""


def write(folder: Path, files: Iterable[RemoteFile]) -> None:
    """Write the checksums of the files."""
    lines = (f"{file.digest}  {file.name}\n" for file in sorted(files, key=lambda file: file.name))
    (folder / NAME).write_text("".join(lines), encoding="utf-8")


def verify(folder: Path) -> int:
    """Check the files that SHA256SUMS names, except what scoring writes; return their number.

    Returns:
        0 where there is no such file.

    Raises:
        CouldNotRunError: a file is missing or differs.
    """
    path = folder / NAME
    if not path.is_file():
        return 0
    wrong, checked = [], 0
    for line in path.read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        if name in OUTPUTS:
            continue
        file = folder / name
        if not file.is_file():
            wrong.append(f"{name} is missing")
            continue
        with file.open("rb") as handle:
            if hashlib.file_digest(handle, "sha256").hexdigest() != digest:
                wrong.append(f"{name} differs")
        checked += 1
    if wrong:
        raise CouldNotRunError(
            f"the evidence in {folder} is not what was copied: {short_list(wrong, NAMED, '; ')}",
            "copy it again with krt evidence; it copies only what is missing or differs",
        )
    return checked
