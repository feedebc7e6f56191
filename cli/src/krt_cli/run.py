"""Applies a test and follows it to its end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from krt_cli.errors import CouldNotRunError
from krt_cli.resource import Test
from krt_cli.watch.command import watch

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from krt_cli.errors import ExitCode
    from krt_cli.kubectl import Kubectl
    from krt_cli.manifest import Manifest

DELETION = "180s"
"""How long `kubectl delete` waits for the cleanup of a test: three times what its pods may take."""


def run(
    kubectl: Kubectl,
    manifest: Manifest,
    evidence: Path | None,
    console: Console,
    *,
    replacing: bool = False,
) -> ExitCode:
    """Apply the test of a file and print its changes up to its end.

    A test of that name that is still running is followed, if the file asks for the same.

    Args:
        kubectl: bound to a namespace, or to that of the file.
        manifest: the file.
        evidence: the folder on this machine that holds the evidence volumes.
        console: where the lines go.
        replacing: delete a test of that name first.

    Raises:
        CouldNotRunError: a test of that name has ended already, or the API server refuses the file.
    """
    if kubectl.namespace is None and manifest.namespace is not None:
        kubectl = replace(kubectl, namespace=manifest.namespace)
    name = manifest.name
    found = kubectl("get", "krt", name, "--ignore-not-found", "--output", "json")
    if found.strip() and replacing:
        console.print(f"deleting the test {name} that is there")
        kubectl("delete", "krt", name, "--wait", f"--timeout={DELETION}")
    elif found.strip() and Test(json.loads(found)).finished:
        raise CouldNotRunError(
            f"the test {name} has ended already, and a test runs once",
            f"run it again with --replace, which deletes the old one first, or see its result with "
            f"krt watch {name}",
        )
    console.print(kubectl("apply", "--filename", "-", stdin=manifest.text).strip())
    return watch(kubectl, name, evidence, console)
