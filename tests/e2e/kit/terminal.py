"""A person at a terminal who types what a page of the documents says, in a fresh clone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kit.run import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SECTION = re.compile(r"^(#+ .+)$", re.MULTILINE)
BLOCK = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)

PATIENCE_SECONDS = 3600
"""For one command: building the images on two cores takes minutes, and is the longest."""


def commands(page: str, heading: str) -> list[str]:
    """Return the commands of a section, up to the next heading; a continued line is one.

    Args:
        page: path below the repository.
        heading: of the section, with its number signs.

    Raises:
        AssertionError: the page has no such section, or it has no commands.
    """
    parts = SECTION.split((ROOT / page).read_text(encoding="utf-8"))
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert heading in sections, f"{page} has no section {heading!r}"
    blocks = BLOCK.findall(sections[heading])
    found = [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]
    assert found, f"section {heading!r} of {page} has no commands"
    return found


def clone(folder: Path) -> Path:
    """Copy the working tree as a clone of it would be, with what is not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@dataclass(frozen=True, slots=True)
class Typed:
    """A command that was typed.

    Attributes:
        command: as it was typed.
        code: its exit code.
        output: what it printed, errors included.
        seconds: how long it took.
    """

    command: str
    code: int
    output: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Terminal:
    """A shell in a folder, with nothing of this environment's Python on its PATH.

    Attributes:
        folder: where commands are typed.
        variables: of the environment, besides those of this process.
        bin: a folder first on PATH; uv installs tools into it.
        typed: what was typed so far.
    """

    folder: Path
    bin: Path
    variables: Mapping[str, str]
    typed: list[Typed] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, home: Path, **variables: str) -> Terminal:
        """Return a terminal whose uv keeps tools below ``home``.

        Args:
            folder: where commands are typed.
            home: an empty folder.
            variables: of the environment.
        """
        programs = home / "bin"
        programs.mkdir(parents=True)
        # `uv run`, which the tests are started by, names itself here.
        (programs / "uv").symlink_to(os.environ["UV"])
        own = {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(programs)}
        return cls(folder, programs, own | variables)

    def type(self, command: str) -> Typed:
        """Run one command and return what became of it."""
        environment = {
            name: value
            for name, value in os.environ.items()
            # KRT_EVIDENCE is of the cluster with a shared folder; the others are of `uv run`.
            if name not in {"KRT_EVIDENCE", "VIRTUAL_ENV", "UV"}
        }
        others = (
            part for part in os.environ["PATH"].split(os.pathsep) if not part.endswith("/.venv/bin")
        )
        environment["PATH"] = os.pathsep.join([str(self.bin), *others])
        started = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=environment | dict(self.variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        typed = Typed(command, done.returncode, done.stdout, time.monotonic() - started)
        self.typed.append(typed)
        return typed
