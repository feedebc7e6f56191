"""``krt score``: scores bundles on this machine with krt-score."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from krt_cli.browser import show_report
from krt_cli.errors import CouldNotRunError, ExitCode
from krt_cli.evidence import sums
from krt_cli.evidence.results import BUNDLE, REPORT
from krt_cli.ticker import Ticker
from krt_cli.watch.command import VERDICTS
from krt_contract.short_list import short_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

JAVA: Final = 17
"""The oldest Java that Spark 4 runs on."""

GET_JAVA: Final = (
    "install a Java runtime of 17 or later (Debian and Ubuntu: apt-get install "
    "openjdk-17-jre-headless; Fedora: dnf install java-21-openjdk-headless; macOS: brew install "
    "openjdk@17), or set JAVA_HOME"
)

GET_SCORER: Final = (
    "install krt with its scorer: uv tool install './cli[score]' in a clone of the repository; in "
    "the clone itself, hack/uv run krt score works, too"
)

SCORER: Final = "krt-score"
SCORECARD: Final = BUNDLE.scorecard.name

NAMED: Final = 3
"""Folders that the line of progress names; the others are counted."""

SEVERITY: Final = (
    ExitCode.PASSED,
    ExitCode.DEGRADED,
    ExitCode.INCONCLUSIVE,
    ExitCode.FAILED,
)
"""Verdicts from the best to the worst."""


def score(
    bundles: Sequence[Path], extra: Sequence[str], console: Console, *, show: bool = False
) -> list[ExitCode]:
    """Score bundles in one session and return the exit code of each verdict.

    Args:
        bundles: the folders, as `krt evidence` makes them.
        extra: options of krt-score.
        console: where the lines go.
        show: open the reports in a browser.

    Raises:
        CouldNotRunError: something is missing, evidence was changed, or scoring failed; what was
            scored before is printed.
    """
    for bundle in bundles:
        if not bundle.is_dir():
            raise CouldNotRunError(
                f"{bundle} is no folder", "name the folder that krt evidence made with -o"
            )
    require_java()
    scorer = find_scorer()
    checked = sum(map(sums.verify, bundles))
    if checked:
        console.print(f"{checked} files have the checksums of {sums.NAME}", markup=False)
    names = [str(bundle) for bundle in bundles]
    with Ticker(console, f"scoring {short_list(names, NAMED)}"):
        done = subprocess.run(  # noqa: S603 - the scorer as installed
            [str(scorer), *names, *extra],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.stdout:
        console.print(done.stdout.strip(), markup=False)
    if done.returncode:
        words = (done.stderr or done.stdout).strip()
        raise CouldNotRunError(
            f"{SCORER} ended with exit code {done.returncode}: {_tail(words)}",
            "the message says what to do; with less memory than it asks for, try --driver-memory",
        )
    for bundle in () if "--out" in extra else bundles:
        for label, name in (("report:", REPORT), ("scorecard:", SCORECARD)):
            if (bundle / name).is_file():
                console.print(f"{label:10} {bundle / name}", markup=False)
        if show and (bundle / REPORT).is_file():
            show_report(bundle / REPORT, console)
    cards = [_card(bundle, extra) for bundle in bundles]
    return [VERDICTS.get(str(card.get("verdict")), ExitCode.INCONCLUSIVE) for card in cards]


def worst(codes: Sequence[ExitCode]) -> ExitCode:
    """Return the exit code of the worst of several verdicts."""
    return max(codes, key=SEVERITY.index)


def require_java() -> None:
    """Check that there is a Java runtime that Spark can run on.

    Raises:
        CouldNotRunError: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin/java") if home else "java"
    try:
        done = subprocess.run(  # noqa: S603 - Java as the user has it
            [java, "-version"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise CouldNotRunError(f"scoring needs Java, and {java} cannot be run", GET_JAVA) from error
    found = re.search(r'version "(\d+)', done.stderr + done.stdout)
    if found is None:
        raise CouldNotRunError(f"{java} -version does not say its version", GET_JAVA)
    if int(found.group(1)) < JAVA:
        raise CouldNotRunError(
            f"scoring needs Java {JAVA} or later, and {java} is {found.group(1)}", GET_JAVA
        )


def find_scorer() -> Path:
    """Return the scorer that is installed with this command, or else the one on PATH.

    Raises:
        CouldNotRunError: there is none.
    """
    beside = Path(sys.executable).parent / SCORER
    if beside.is_file():
        return beside
    found = shutil.which(SCORER)
    if found is None:
        raise CouldNotRunError(f"{SCORER} is not installed", GET_SCORER)
    return Path(found)


def _card(bundle: Path, extra: Sequence[str]) -> dict[str, Any]:
    path = bundle / SCORECARD
    if "--out" in extra:
        path = Path(extra[list(extra).index("--out") + 1])
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _tail(words: str, lines: int = 5) -> str:
    return " | ".join(line.strip() for line in words.splitlines()[-lines:])
