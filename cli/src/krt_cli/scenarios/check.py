"""Checks from the stored runs of scenarios whether they met what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krt_cli.scenarios.results import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from krt_cli.scenarios.results import Store


class Selection(NamedTuple):
    """Stored runs to check: all of a scenario under a key, or one of them.

    Attributes:
        name: the id of the scenario.
        key: the manifest and the images as they are now.
        uid: of one run; None for all.
    """

    name: str
    key: str
    uid: str | None = None


def check(store: Store, selections: Iterable[Selection], console: Console) -> bool:
    """Print the result of each run, and return whether every one met what is expected.

    A selection without any run counts as not met.
    """
    passed = True
    for name, key, uid in selections:
        runs = store.runs(name, key, uid) if uid else store.runs(name, key)
        passed = passed and bool(runs) and all(run.outcome is Outcome.MET for run in runs)
        for run in runs:
            console.print(f"{name}: {run.summary()}", markup=False)
        if not runs:
            console.print(f"{name}: has not been run with this manifest and these images")
    return passed
