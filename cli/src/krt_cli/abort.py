"""Ends a test early."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krt_cli.errors import CouldNotRunError
from krt_cli.following import follow
from krt_cli.resource import Test

if TYPE_CHECKING:
    from rich.console import Console

    from krt_cli.kubectl import Kubectl


def abort(kubectl: Kubectl, name: str, console: Console, *, waiting: bool) -> None:
    """Set ``spec.abort``: active faults are reverted, the test is cleaned up and gets no verdict.

    Args:
        kubectl: bound to the namespace of the test.
        name: of the test.
        console: where the lines go.
        waiting: return only once the test has ended.

    Raises:
        CouldNotRunError: there is no such test, it has ended already, or it cannot be followed to
            its end.
    """
    test = Test(kubectl.get("krt", name))
    if test.finished:
        raise CouldNotRunError(
            f"the test {name} has ended already ({test.status.get('phase')})",
            f"nothing is left to abort; krt watch {name} shows its result",
        )
    kubectl(
        "patch", "krt", name, "--type=merge", f"--patch={json.dumps({'spec': {'abort': True}})}"
    )
    if not waiting:
        console.print(f"{name}: abort requested; krt watch {name} follows it")
        return
    console.print(f"{name}: abort requested; waiting for its end")
    test = follow(kubectl, name)
    console.print(f"{name}: {test.status.get('phase')}, cleaned up")
