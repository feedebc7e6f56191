"""Options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from krt_cli.errors import ExitCode
from krt_cli.watch.command import VERDICTS

Name = Annotated[str, typer.Argument(help="Name of the KafkaResilienceTest.")]

Namespace = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="Namespace; that of the context if not given."),
]

Context = Annotated[str | None, typer.Option(help="Context of the kubeconfig file.")]

Kubeconfig = Annotated[
    Path | None, typer.Option(help="Kubeconfig file; KUBECONFIG as for kubectl if not given.")
]

Evidence = Annotated[
    Path | None,
    typer.Option(
        envvar="KRT_EVIDENCE",
        help="Folder on this machine that holds the evidence volumes, to print the paths of "
        "evidence and report; hack/env sets KRT_EVIDENCE for the kind cluster.",
    ),
]

Image = Annotated[
    str | None,
    typer.Option(
        help="Image of the pod that reads the evidence; if not given, one that the test ran. A "
        "claim can be read with any that has sh, find, tar and sha256sum, an object store with the "
        "traffic image."
    ),
]


class Verdict(StrEnum):
    """Verdicts that can be accepted."""

    DEGRADED = "Degraded"
    FAILED = "Failed"
    INCONCLUSIVE = "Inconclusive"


Accepted = Annotated[
    list[Verdict] | None,
    typer.Option(
        "--accept",
        help="A verdict that ends with exit code 0, too: Degraded, Failed or Inconclusive; may be "
        "given several times.",
    ),
]


class JsonOutput(StrEnum):
    """The other way to print what a person reads."""

    JSON = "json"


Document = Annotated[
    JsonOutput | None, typer.Option("--output", "-o", help="Print JSON, for programs.")
]


def accepted(code: ExitCode, accept: list[Verdict] | None) -> ExitCode:
    """Return the exit code, 0 for a verdict that is accepted."""
    codes = {VERDICTS[verdict.value] for verdict in accept or ()}
    return ExitCode.PASSED if code in codes else code


def new_console(*, stderr: bool = False) -> Console:
    """Return the console that commands print to: plain lines where there is no terminal."""
    return Console(highlight=False, emoji=False, soft_wrap=True, stderr=stderr)
