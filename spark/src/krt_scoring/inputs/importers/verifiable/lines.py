"""The events of one file, line by line, and what could not be understood.

The tools' own documentation says that log output on standard output is recognised by not being
JSON: a line that neither begins nor ends as an object is such output and is passed over. Anything
else that cannot be read is damage, and is named by its line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_scoring.inputs.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from krt_scoring.inputs.scope import Scope

MICROS = 1_000
"""µs in the tools' millisecond."""

_UNWRITTEN = b"Bad data can't be written as json"
"""What both tools print in place of an event they could not write."""


class Lines:
    """Reads one file.

    Attributes:
        first, last: times of its first and last event, UTC µs; 0 where it has none.
        torn: its last line is not whole.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._problem: tuple[int, str] | None = None
        self._problems = 0
        self.first = 0
        self.last = 0
        self.torn = False

    def problem(self, number: int, text: str) -> None:
        """Note that a line could not be used."""
        self._problem = self._problem or (number, text)
        self._problems += 1

    def __iter__(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield (line number, time in UTC µs, event) of each event."""
        with self._path.open("rb") as handle:
            for number, raw in enumerate(handle, 1):
                line = raw.strip()
                if not line.startswith((b"{", _UNWRITTEN)) and not line.endswith(b"}"):
                    continue
                try:
                    event = json.loads(line)
                except ValueError:
                    if raw.endswith(b"\n"):
                        self.problem(number, "is no JSON")
                    else:
                        self.torn = True
                    continue
                at = event.get("timestamp") if isinstance(event, dict) else None
                if not isinstance(at, int) or not isinstance(event.get("name"), str):
                    self.problem(number, "has no timestamp or no name")
                    continue
                at *= MICROS
                self.first = self.first or at
                self.last = max(self.last, at)
                yield number, at, event

    def reasons(self, voids: tuple[str, ...], scope: Scope) -> Iterator[Reason]:
        """Yield what was wrong with the file.

        Args:
            voids: anomalies that rest on a file of its kind.
            scope: the part of the evidence that the file is.
        """
        name = self._path.name
        if self._problem is not None:
            number, text = self._problem
            more = f"; and {self._problems - 1} more of its lines" if self._problems > 1 else ""
            message = f"line {number} {text}{more}"
            yield Reason("evidence", "FileUnreadable", f"{name}:{number}", message, voids, scope)
        if self.torn:
            message = "its last line is torn: the process was killed while it wrote"
            yield Reason("coverage", "FileTorn", name, message)


def text(event: dict[str, Any], key: str) -> str:
    """Return a text of an event.

    Raises:
        ValueError: there is none.
    """
    value = event.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{event['name']} without {key}")  # noqa: TRY004 (of one kind for callers)
    return value


def number(event: dict[str, Any], key: str, where: str = "") -> int:
    """Return an integer of an event.

    Raises:
        ValueError: there is none.
    """
    value = event.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{event.get('name', where)} without {key}")  # noqa: TRY004 (as above)
    return value


def listed(event: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of objects of an event.

    Raises:
        ValueError: there is none.
    """
    value = event.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"{event['name']} without {key}")
    return value
