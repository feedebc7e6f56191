"""The commands that read results, and the one that checks a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from krt_cli import sample
from krt_cli.diff.command import diff as compare_runs
from krt_cli.doctor.command import doctor as check_cluster
from krt_cli.errors import ExitCode, ExitWithCode
from krt_cli.evidence import fetch
from krt_cli.explain import explain as explain_test
from krt_cli.kubectl import Kubectl
from krt_cli.manifest import read as read_manifest
from krt_cli.options import (
    Accepted,
    Context,
    Document,
    Evidence,
    Image,
    Kubeconfig,
    Name,
    Namespace,
    accepted,
    new_console,
)
from krt_cli.score import score as score_bundles
from krt_cli.score import worst

if TYPE_CHECKING:
    from krt_cli.manifest import Manifest


def report(  # noqa: PLR0913 - the options of a command
    name: Name,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the files; NAME-report.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    evidence: Evidence = None,
    image: Image = None,
) -> None:
    """Copy report, JUnit file, summary and scorecard of a test to this machine.

    They are read through the API server, by a short-lived pod that mounts the evidence claim
    read-only, or copies them out of the object store. You need the rights to create pods and
    pods/exec in the namespace of the test.
    """
    fetch.report(
        Kubectl(namespace, context, kubeconfig),
        name,
        output or Path(f"{name}-report"),
        new_console(),
        image=image,
        local=evidence,
        show=show,
    )


def evidence(  # noqa: PLR0913 - the options of a command
    name: Name,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")],
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    image: Image = None,
) -> None:
    """Copy all evidence of a test to this machine, verified by checksums.

    The folder can be scored with krt score. A copy that was interrupted goes on where it stopped.
    You need the rights to create pods and pods/exec in the namespace of the test.
    """
    kubectl = Kubectl(namespace, context, kubeconfig)
    fetch.evidence(kubectl, name, output, new_console(), image=image)


def score(  # noqa: PLR0913 - the options of a command
    bundles: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders, each with the evidence of one run; with --sample, the one that the "
            f"recorded evidence is unpacked into ({sample.NAME})."
        ),
    ] = None,
    *,
    recorded: Annotated[
        bool,
        typer.Option(
            "--sample", help="Score the recorded leader crash that is installed with krt."
        ),
    ] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the reports in a browser.")] = False,
    accept: Accepted = None,
    self_test: Annotated[
        bool, typer.Option(help="Corrupt copies of the evidence and check that each is detected.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write only the scorecard of the one run, to this file, nothing into the folder."
        ),
    ] = None,
    driver_memory: Annotated[
        str | None, typer.Option(help="Heap of the Spark process, such as 2g.")
    ] = None,
) -> None:
    """Score evidence on this machine with local Spark; it needs Java 17 or later.

    Writes scorecard.json, report.html and junit.xml into the folder. Several folders are scored in
    one session: all but the first take less than half the time. The exit code follows the verdict,
    as that of krt run; of several, the worst. With --sample, no cluster and no evidence of your own
    are needed.
    """
    if out and show:
        raise typer.BadParameter("--out writes no report that --open could show")
    if recorded:
        bundles = bundles or [Path(sample.NAME)]
        if len(bundles) > 1:
            raise typer.BadParameter("--sample takes one folder, which need not be there")
        sample.unpack(bundles[0])
    if not bundles:
        raise typer.BadParameter("name the folder of a bundle, or give --sample")
    extra = ["--self-test"] if self_test else []
    extra += ["--out", str(out)] if out else []
    extra += ["--driver-memory", driver_memory] if driver_memory else []
    codes = score_bundles(bundles, extra, new_console(), show=show)
    raise ExitWithCode(worst([accepted(code, accept) for code in codes]))


def explain(
    name: Name,
    *,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Document = None,
) -> None:
    """Say why a test has its verdict, and what to do next."""
    kubectl = Kubectl(namespace, context, kubeconfig)
    explain_test(kubectl, name, new_console(), as_json=output is not None)


def doctor(
    file: Annotated[
        str | None, typer.Argument(help="The file of a test to check the cluster for.")
    ] = None,
    *,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Document = None,
) -> None:
    """Check a cluster before the first test: versions, nodes, storage, rights, images.

    The exit code is 4 if a test could not run, otherwise 0. Nothing is created.
    """
    manifest: Manifest | None = None if file is None else read_manifest(file)
    place = namespace or (manifest.namespace if manifest else None)
    kubectl = Kubectl(place, context, kubeconfig)
    code = check_cluster(kubectl, manifest, new_console(), as_json=output is not None)
    if code is not ExitCode.PASSED:
        raise ExitWithCode(code)


def diff(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Two or more runs: the folders of their bundles, or files with their scorecards. "
            "The first is what the others are compared with."
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(help="Also write a page with these tables and the runs' charts to this file."),
    ] = None,
) -> None:
    """Compare runs: the settings that differ, then numbers with their differences."""
    if len(runs) < 2:  # noqa: PLR2004 (to compare takes two)
        raise typer.BadParameter("name two runs or more")
    compare_runs(runs, new_console(), html)


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    for command in (explain, report, evidence, diff, score, doctor):
        app.command()(command)
