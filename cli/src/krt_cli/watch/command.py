"""Follows one test to its end and prints what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from krt_cli.errors import ExitCode
from krt_cli.following import follow
from krt_cli.resource import ERROR
from krt_cli.watch.closing import LABEL, closing
from krt_cli.watch.live import Live
from krt_cli.watch.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from krt_cli.kubectl import Kubectl
    from krt_cli.resource import Test


VERDICTS = {
    "Passed": ExitCode.PASSED,
    "Degraded": ExitCode.DEGRADED,
    "Failed": ExitCode.FAILED,
    "Inconclusive": ExitCode.INCONCLUSIVE,
}

STYLES = {
    ExitCode.PASSED: "bold green",
    ExitCode.DEGRADED: "bold yellow",
    ExitCode.FAILED: "bold red",
    ExitCode.INCONCLUSIVE: "bold magenta",
    ExitCode.COULD_NOT_RUN: "bold magenta",
}


def watch(kubectl: Kubectl, name: str, evidence: Path | None, console: Console) -> ExitCode:
    """Print the changes of a test up to its end, then its closing lines.

    Args:
        kubectl: bound to the namespace of the test.
        name: of the test.
        evidence: the folder on this machine that holds the evidence volumes.
        console: where the lines go.

    Raises:
        CouldNotRunError: the test cannot be followed to its end.
    """
    progress = Progress()

    with Live(kubectl, console) as live:

        def show(test: Test) -> None:
            for line in progress.lines(test):
                console.print(Text(line, "bold" if "s  phase " in line else ""))
            live.show(test)

        ended = follow(kubectl, name, show)
    return _close(ended, evidence, console)


def _close(test: Test, evidence: Path | None, console: Console) -> ExitCode:
    code = VERDICTS.get(test.status.get("verdict", ""), ExitCode.INCONCLUSIVE)
    if test.status.get("phase") == ERROR:
        code = ExitCode.COULD_NOT_RUN
    console.print()
    for label, text in closing(test, evidence):
        style = STYLES[code] if label == "verdict" else ""
        console.print(Text(f"{label:{LABEL}}").append(text, style))
    return code
