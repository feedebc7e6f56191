"""The command line of ``krt``."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from krt_cli.errors import CouldNotRunError, ExitCode, ExitWithCode
from krt_cli.kubectl import Kubectl
from krt_cli.scenarios.commands import app as scenarios_app
from krt_cli.watch.command import watch as watch_test

USAGE = 2
"""What typer ends with where the arguments are wrong."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Watches tests of kind KafkaResilienceTest and runs the scenarios. Also installed as the "
    "kubectl plugin `kubectl krt`.",
)
app.add_typer(scenarios_app, name="scenarios")


@app.callback()
def _root() -> None:
    """Keep `watch` a command of its own."""


@app.command()
def watch(
    name: Annotated[str, typer.Argument(help="Name of the KafkaResilienceTest.")],
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", help="Namespace; that of the context if not given."),
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig file.")] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Kubeconfig file; KUBECONFIG as for kubectl if not given.")
    ] = None,
    evidence: Annotated[
        Path | None,
        typer.Option(
            envvar="KRT_EVIDENCE",
            help="Folder on this machine that holds the evidence volumes, to print the paths of "
            "evidence and report; hack/env sets KRT_EVIDENCE for the kind cluster.",
        ),
    ] = None,
) -> None:
    """Follow a test to its end: phases, conditions, faults, what was observed, and the verdict.

    The exit code follows the verdict: 0 Passed, 1 Degraded, 2 Failed, 3 Inconclusive.

    It is 4 where the command could not run: no such test, the test was deleted, kubectl failed,
    wrong arguments.
    """
    console = Console(highlight=False, soft_wrap=True)
    kubectl = Kubectl(namespace, context, kubeconfig)
    raise ExitWithCode(watch_test(kubectl, name, evidence, console))


def main() -> None:
    """Run the command and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command and return its exit code.

    Wrong arguments end with 4, not with typer's 2: that is the code of the verdict Failed.
    """
    try:
        typer.main.get_command(app).main(arguments, "krt")
    except ExitWithCode as end:
        return end.code
    except CouldNotRunError as error:
        sys.stderr.write(f"error: {error}\n")
        if error.remedy:
            sys.stderr.write(f"  remedy: {error.remedy}\n")
        return ExitCode.COULD_NOT_RUN
    except SystemExit as end:
        return ExitCode.COULD_NOT_RUN if end.code == USAGE else int(end.code or 0)
    return 0
