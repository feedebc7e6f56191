"""Runs the checks in order, and prints what they found."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from krt_cli.doctor import access, install, nodes, storage
from krt_cli.doctor.finding import Finding, Level, ok
from krt_cli.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from krt_cli.kubectl import Kubectl
    from krt_cli.manifest import Manifest

STYLES: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.BLOCKER: "bold red"}
DEFAULT_NAMESPACE: Final = "default"


def doctor(
    kubectl: Kubectl, manifest: Manifest | None, console: Console, *, as_json: bool
) -> ExitCode:
    """Check the cluster, print each finding with its remedy, and return the exit code.

    Args:
        kubectl: bound to the namespace in which tests are to run.
        manifest: the test to check the cluster for; None for the common parts alone.
        console: where the lines go.
        as_json: print the findings as JSON, for programs.

    Returns:
        COULD_NOT_RUN if a test could not run.

    Raises:
        KubectlError: the API server does not answer.
    """
    found = []
    for finding in checks(kubectl, manifest):
        found.append(finding)
        if not as_json:
            _print(finding, console)
    blockers = sum(finding.level is Level.BLOCKER for finding in found)
    if as_json:
        document = {"ready": not blockers, "findings": [asdict(finding) for finding in found]}
        console.print(json.dumps(document, indent=2), markup=False)
    else:
        console.print()
        file = "FILE" if manifest is None else manifest.where
        console.print(
            f"not ready: {blockers} blocker{'s' if blockers > 1 else ''}"
            if blockers
            else f"ready; next: krt run {file}",
            markup=False,
        )
    return ExitCode.COULD_NOT_RUN if blockers else ExitCode.PASSED


def checks(kubectl: Kubectl, manifest: Manifest | None) -> Iterator[Finding]:
    """Yield the findings of all checks."""
    yield install.kubernetes(kubectl)
    crd = install.crd(kubectl)
    yield crd
    found = install.controllers(kubectl)
    namespace = kubectl.namespace or _namespace(kubectl)
    yield from install.controller(kubectl, found, namespace)
    spec: dict[str, Any] = {} if manifest is None else manifest.spec
    yield nodes.nodes(kubectl, spec)
    settings = found[0].settings if found else {}
    yield storage.place(kubectl, spec.get("evidence") or {}, settings)
    yield from access.rights(kubectl)
    if found:
        yield from access.images(kubectl, found[0])
    if manifest is not None and crd.level is Level.OK:
        yield access.admitted(kubectl, manifest)
    elif manifest is None:
        yield ok("test", "none was named; krt doctor FILE checks the cluster for a test")


def _namespace(kubectl: Kubectl) -> str:
    text = kubectl("config", "view", "--minify", "--output", "jsonpath={..namespace}").strip()
    return text or DEFAULT_NAMESPACE


def _print(finding: Finding, console: Console) -> None:
    console.print(f"{finding.level:8}", style=STYLES[finding.level], end="")
    console.print(f"{finding.check:14} {finding.message}", markup=False)
    if finding.remedy:
        console.print(f"{'':23}remedy: {finding.remedy}", markup=False)
