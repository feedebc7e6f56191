"""The command line of ``krt``."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib import metadata
from typing import Annotated

import typer

from krt_cli import results_commands
from krt_cli.abort import abort as abort_test
from krt_cli.errors import CouldNotRunError, ExitCode, ExitWithCode
from krt_cli.kubectl import Kubectl
from krt_cli.listing import list_tests
from krt_cli.manifest import read as read_manifest
from krt_cli.options import (
    Accepted,
    Context,
    Evidence,
    Kubeconfig,
    Name,
    Namespace,
    accepted,
    new_console,
)
from krt_cli.run import run as run_test
from krt_cli.scenarios.commands import app as scenarios_app
from krt_cli.watch.command import watch as watch_test

USAGE = 2
"""What typer ends with where the arguments are wrong."""


class Output(StrEnum):
    """How a list is printed."""

    TABLE = "table"
    JSON = "json"


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Checks a cluster, runs and follows tests of kind KafkaResilienceTest, reads their "
    "results, and runs the scenarios. Also installed as the kubectl plugin `kubectl krt`.",
)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"krt {metadata.version('krt-cli')}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options that come before a command."""


@app.command("run")
def run_file(  # noqa: PLR0913 - the options of a command
    file: Annotated[str, typer.Argument(help="The file of the test; - for standard input.")],
    *,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    evidence: Evidence = None,
    accept: Accepted = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete a test of the same name first.")
    ] = False,
) -> None:
    """Apply a test and follow it to its verdict.

    The exit code follows the verdict: 0 Passed, 1 Failed, 2 Degraded, 3 Inconclusive.

    It is 4 where the test could not run (phase Error, whatever --accept says) or the command could
    not: the API server refuses the test, a test of that name has ended already, the test was
    deleted, kubectl failed, wrong arguments. It is 130 after Ctrl-C; the test then goes on.
    """
    manifest = read_manifest(file)
    kubectl = Kubectl(namespace, context, kubeconfig)
    with _interruptible(manifest.name):
        code = run_test(kubectl, manifest, evidence, new_console(), replacing=replace)
    raise ExitWithCode(accepted(code, accept))


@app.command()
def watch(  # noqa: PLR0913 - the options of a command
    name: Name,
    *,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    evidence: Evidence = None,
    accept: Accepted = None,
) -> None:
    """Follow a test to its end: phases, conditions, faults, what was observed, and the verdict.

    The exit code follows the verdict: 0 Passed, 1 Failed, 2 Degraded, 3 Inconclusive.

    It is 4 where the test could not run (phase Error, whatever --accept says) or the command could
    not: no such test, the test was deleted, kubectl failed, wrong arguments. It is 130 after
    Ctrl-C; the test then goes on.
    """
    kubectl = Kubectl(namespace, context, kubeconfig)
    with _interruptible(name):
        code = watch_test(kubectl, name, evidence, new_console())
    raise ExitWithCode(accepted(code, accept))


@app.command("list")
def list_(
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    *,
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="The tests of all namespaces.")
    ] = False,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="How to print them.")
    ] = Output.TABLE,
) -> None:
    """List tests with phase, verdict, score, lost records and summary, the latest first."""
    kubectl = Kubectl(namespace, context, kubeconfig)
    list_tests(kubectl, new_console(), everywhere=all_namespaces, as_json=output is Output.JSON)


@app.command("abort")
def abort_(
    name: Name,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    *,
    wait: Annotated[bool, typer.Option(help="Wait until the test has ended.")] = True,
) -> None:
    """End a test early: revert its faults, clean up, and give no verdict."""
    abort_test(Kubectl(namespace, context, kubeconfig), name, new_console(), waiting=wait)


results_commands.register(app)
app.add_typer(scenarios_app, name="scenarios")


@contextmanager
def _interruptible(name: str) -> Iterator[None]:
    """Say on Ctrl-C that the test goes on, and how to follow or end it."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(
            f"no longer following {name}; the test goes on\n"
            f"  krt watch {name} follows it again, krt abort {name} ends it\n"
        )
        raise ExitWithCode(ExitCode.INTERRUPTED) from None


def main() -> None:
    """Run the command and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command and return its exit code.

    Wrong arguments end with 4, not with typer's 2: that is the code of the verdict Degraded.
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
    except OSError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.stderr.write("  remedy: check the path, your rights on it and the room on its volume\n")
        return ExitCode.COULD_NOT_RUN
    except SystemExit as end:
        return ExitCode.COULD_NOT_RUN if end.code == USAGE else int(end.code or 0)
    except Exception:  # noqa: BLE001 - Python would end with 1, the code of the verdict Failed
        traceback.print_exc()
        sys.stderr.write("error: a defect of krt; report it with the lines above\n")
        return ExitCode.COULD_NOT_RUN
    return 0
