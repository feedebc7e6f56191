"""Turns the states of a test into lines, one for each change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from krt_cli.resource import Fault, Test, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator


def timed(test: Test, at: str, text: str) -> str:
    """Return a line of what happened at a time, with the seconds since the test was created."""
    return f"{seconds(test.created, at) or 0.0:7.1f} s  {text}"


class Progress:
    """Remembers which changes were printed, so that each is printed once."""

    def __init__(self) -> None:
        self._printed: set[tuple[str, str]] = set()
        self._waiting: tuple[str, str] | None = None

    def lines(self, test: Test, now: datetime | None = None) -> Iterator[str]:
        """Yield what is new in ``test``, oldest first, each with its seconds since creation.

        Args:
            test: its present state.
            now: what it waits for has no time of its own; None: the present.
        """
        changes = [*_phases(test), *_conditions(test)]
        for fault in test.faults:
            changes += _fault(fault)
        for at, text in sorted(changes):
            # By its time too: a condition that comes back comes back with the same words.
            if (at, text) not in self._printed:
                self._printed.add((at, text))
                yield timed(test, at, text)
        if test.waiting and test.waiting != self._waiting:
            at = (now or datetime.now(UTC)).isoformat()
            yield timed(test, at, f"  waits: {': '.join(test.waiting)}")
        self._waiting = test.waiting


def _phases(test: Test) -> Iterator[tuple[str, str]]:
    for phase in test.phases:
        if phase.get("startTime"):
            yield phase["startTime"], f"phase {phase['name']}"


def _conditions(test: Test) -> Iterator[tuple[str, str]]:
    for condition in test.conditions:
        state = f"{condition['type']}={condition['status']} {condition.get('reason', '')}"
        message = condition.get("message", "")
        yield condition["lastTransitionTime"], f"  {state}{': ' + message if message else ''}"


def _fault(fault: Fault) -> Iterator[tuple[str, str]]:
    for at, moment in fault.moments:
        yield at, f"fault {fault.name} {moment}: {fault.targets}"
    for (at, kind), (first, *rest) in fault.observations.items():
        yield at, f"  {kind}: {first}{f' (and {len(rest)} more)' if rest else ''}"
