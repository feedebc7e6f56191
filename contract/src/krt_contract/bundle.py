"""Where things lie in a bundle, and how a file gets there whole.

Directories are made group-writable (2775): the pods of a run share group 0 under whatever uid
the cluster gives them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pathlib import Path

DIRECTORY_MODE = 0o2775
"""rwx for owner and group, setgid: files keep group 0 (OpenShift gives any uid in group 0)."""

IN_PROGRESS_SUFFIX = ".tmp"
"""Suffix of a file that is not closed yet; readers ignore it."""


DEFAULT_CLAIM = "krt-evidence"
"""The claim on which bundles lie where a test names none: the controller creates it."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Paths of one run's evidence.

    Attributes:
        root: the directory ``<namespace>/<name>/<uid>``.
    """

    root: Path

    PARTS: ClassVar = ("namespace", "name", "uid")
    """What the last components of ``root`` are."""

    @property
    def run_json(self) -> Path:
        """The resolved plan, versions and image ids of the run."""
        return self.root / "run.json"

    @property
    def timeline(self) -> Path:
        """Folder of timeline files (JSON lines)."""
        return self.root / "timeline"

    @property
    def metadata_log(self) -> Path:
        """Folder of the KRaft metadata log's records (JSON lines)."""
        return self.root / "metadata_log"

    @property
    def logs(self) -> Path:
        """Folder of the members' logs."""
        return self.root / "logs"

    @property
    def scorecard(self) -> Path:
        """The verdict and everything it rests on, integers only."""
        return self.root / "scorecard.json"

    @property
    def series(self) -> Path:
        """The run second by second: what the report's charts are drawn of."""
        return self.root / "series.json"

    @property
    def scoring(self) -> Path:
        """How the scoring itself went: times, memory, versions."""
        return self.root / "scoring.json"

    @property
    def report(self) -> Path:
        """The report for people."""
        return self.root / "report.html"

    @property
    def junit(self) -> Path:
        """The report for CI."""
        return self.root / "junit.xml"

    @property
    def summary(self) -> Path:
        """The result as Markdown, for the page of a CI job."""
        return self.root / "summary.md"

    def table(self, name: str) -> Path:
        """Return the folder of a ledger table named in ``schemas.TABLES``."""
        return self.root / name


def make_directory(path: Path) -> None:
    """Create ``path`` and its parents, shared by the group, whatever the umask."""
    missing = []
    current = path
    while not current.exists():
        missing.append(current)
        current = current.parent
    for directory in reversed(missing):
        try:
            directory.mkdir()
            directory.chmod(DIRECTORY_MODE)
        except FileExistsError:
            continue


def sync_directory(path: Path) -> None:
    """Make the names in ``path`` durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(temporary: Path, final: Path) -> None:
    """Give a complete file its name: fsync, rename, fsync of the folder.

    Args:
        temporary: a closed file in the same folder.
        final: its name from now on; replaced when it exists.
    """
    with temporary.open("rb") as handle:
        os.fsync(handle.fileno())
    temporary.replace(final)
    sync_directory(final.parent)


def write_text(path: Path, text: str) -> None:
    """Write a text file so that a reader sees all of it or nothing."""
    make_directory(path.parent)
    temporary = path.with_name(path.name + IN_PROGRESS_SUFFIX)
    temporary.write_text(text, encoding="utf-8")
    publish(temporary, path)


def json_text(value: dict[str, Any]) -> str:
    """Return ``value`` as sorted, indented JSON ending in a newline."""
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write ``value`` as sorted, indented JSON ending in a newline, whole or not at all."""
    write_text(path, json_text(value))
