"""The classes that scoring loads, kept for the next scoring on this machine.

Most of what a JVM does in its first seconds is to read classes from jars and to verify them. When
it ends, it can write them into an archive, which a later one maps into its memory (JEP 350:
class-data sharing with a dynamic archive, since Java 13). The JVM compares its own build and class
path with the archive's, and reads the jars where they differ.

An archive has some 160 MB, and writing it takes seconds. So it is written by the second scoring on
a machine: who scores once, or in a container that is gone afterwards, pays nothing for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark

if TYPE_CHECKING:
    from collections.abc import Mapping

KEPT: Final = 2
"""Archives that stay, each of another Java or Spark: the two that were used last."""

ABANDONED_S: Final = 3600
"""Age in seconds at which an archive that is not complete is no longer being written."""

# What the JVM has to say about an archive that it cannot use goes to standard output, which is for
# the verdict. A JVM that is not HotSpot does not know the options.
QUIET: Final = "-XX:+IgnoreUnrecognizedVMOptions -Xlog:cds*=off"

FIXED_ADDRESS: Final = "-XX:+UnlockDiagnosticVMOptions -XX:ArchiveRelocationMode=0"
"""Maps the archive at the address it was written for. Java 17.0.15 maps it at a random one
by default, and changes every pointer in it: 80 MiB of memory that no other JVM shares, and 0.16 of
the 2 s of processor time that ``SparkSubmit --version`` takes. The images' JVMs have it, too."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a JVM starts.

    Attributes:
        flags: those that name the archive; empty where it has nothing to do with it.
        writes: whether it writes the archive when it ends.
    """

    flags: str = ""
    writes: bool = False


@dataclass(frozen=True, slots=True)
class ClassData:
    """The archive of one Java and one Spark.

    Attributes:
        archive: where it is, or will be.
    """

    archive: Path

    @property
    def _partial(self) -> Path:
        return self.archive.with_name(f"{self.archive.stem}.{os.getpid()}.partial")

    @property
    def _used_once(self) -> Path:
        return self.archive.with_suffix(".once")

    def start(self) -> Start:
        """Return how a JVM starts now: it reads the archive, or writes it the second time."""
        try:
            if self.archive.exists():
                self.archive.touch()
                return Start(f'{QUIET} {FIXED_ADDRESS} "-XX:SharedArchiveFile={self.archive}"')
            if self._used_once.exists():
                self._remove_abandoned()
                return Start(f'{QUIET} "-XX:ArchiveClassesAtExit={self._partial}"', writes=True)
            self.archive.parent.mkdir(parents=True, exist_ok=True)
            self._used_once.touch()
        except OSError:
            # A cache that cannot be written to is none.
            return Start()
        return Start()

    def keep(self) -> None:
        """Keep what a JVM wrote that has ended; nothing where it wrote nothing."""
        with contextlib.suppress(OSError):
            self._partial.replace(self.archive)
            self._used_once.unlink(missing_ok=True)
            used = sorted(self.archive.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime)
            for path in used[:-KEPT]:
                path.unlink(missing_ok=True)

    def _remove_abandoned(self) -> None:
        for path in self.archive.parent.glob("*.partial"):
            if time.time() - path.stat().st_mtime > ABANDONED_S:
                path.unlink(missing_ok=True)


def find(variables: Mapping[str, str] = os.environ) -> ClassData | None:
    """Return the archive for the Java that Spark will start; None where none can be kept.

    Args:
        variables: the environment: `XDG_CACHE_HOME`, `HOME`, `JAVA_HOME`, `PATH`.
    """
    home = variables.get("HOME")
    cache = variables.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    java_home = variables.get("JAVA_HOME")
    java = shutil.which(
        f"{java_home}/bin/java" if java_home else "java", path=variables.get("PATH")
    )
    # The JVM takes a colon for the end of a path, and Spark quotes for its own.
    if not cache or java is None or set(':"') & set(cache):
        return None
    program = Path(java).resolve()
    build = program.stat()
    identity = (
        *(program, build.st_size, build.st_mtime_ns),
        *(pyspark.__version__, Path(pyspark.__file__).parent),
    )
    key = hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest()[:16]
    return ClassData(Path(cache) / "krt" / "class-data" / f"{key}.jsa")
