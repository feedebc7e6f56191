"""Follows a test to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_cli.errors import CouldNotRunError
from krt_cli.resource import Test

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_cli.kubectl import Kubectl


def follow(kubectl: Kubectl, name: str, show: Callable[[Test], None] | None = None) -> Test:
    """Return a test as it is at its end.

    Args:
        kubectl: bound to the namespace of the test.
        name: of the test.
        show: is called with each state of the test, the last one too.

    Raises:
        CouldNotRunError: the test cannot be followed to its end.
    """
    for state in kubectl.states(name):
        test = Test(state)
        if show:
            show(test)
        if test.finished:
            return test
    raise CouldNotRunError(
        f"the watch ended before the test {name} did", f"kubectl get krt {name} shows its state"
    )
