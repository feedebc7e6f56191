"""Durations: as Kubernetes users write them (``1m30s``) and as results show them (``7.32 s``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Self

from krt_contract.errors import ContractError

PATTERN: Final = r"^([0-9]{1,3}h)?([0-9]{1,4}m)?([0-9]{1,5}s)?([0-9]{1,8}ms)?$"
"""Whole numbers, units from large to small. CEL's ``duration()`` reads all that it admits."""
MIN_LENGTH: Final = 2
"""Characters; the pattern alone would admit an empty text."""
MAX_LENGTH: Final = 25
"""Characters of the longest text that the pattern admits."""

_PARTS = re.compile(r"(?:(\d{1,3})h)?(?:(\d{1,4})m)?(?:(\d{1,5})s)?(?:(\d{1,8})ms)?", re.ASCII)
MICROS: Final = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000}
"""Unit to its microseconds, from large to small."""


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time, never negative, in whole milliseconds.

    Attributes:
        micros: length in microseconds.
    """

    micros: int

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read ``1h2m3s4ms``.

        Raises:
            ContractError: the text is not a duration; the message says how to write one.
        """
        match = _PARTS.fullmatch(text) if isinstance(text, str) else None
        if match is None or len(match.string) < MIN_LENGTH:
            raise ContractError(f"{text!r} is not a duration; write it like 20s, 1m30s or 500ms")
        values = (int(group or 0) for group in match.groups())
        return cls(sum(n * unit for n, (_, unit) in zip(values, MICROS.items(), strict=True)))

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return self.micros / 1_000_000

    @property
    def delta(self) -> timedelta:
        """The same length, for arithmetic with points in time."""
        return timedelta(microseconds=self.micros)

    def __str__(self) -> str:
        """Return the shortest text that `parse` reads back; ``0s`` for zero."""
        rest, parts = self.micros, []
        for name, unit in MICROS.items():
            count, rest = divmod(rest, unit)
            if count:
                parts.append(f"{count}{name}")
        return "".join(parts) or "0s"


ZERO: Final = Duration(0)


def show(micros: int) -> str:
    """Return a measured duration for people: ``830 µs``, ``12.4 ms``, ``7.32 s``, ``2 m 05 s``.

    Args:
        micros: microseconds, negative where an event came before the one it is measured from.
    """
    sign = "-" if micros < 0 else ""
    size = abs(micros)
    if size < MICROS["ms"]:
        return f"{sign}{size} µs"
    if size < MICROS["s"]:
        return f"{sign}{size // 1_000}.{size % 1_000 // 100} ms"
    if size < 2 * MICROS["m"]:
        return f"{sign}{size // MICROS['s']}.{size % MICROS['s'] // 10_000:02d} s"
    return f"{sign}{size // MICROS['m']} m {size % MICROS['m'] // MICROS['s']:02d} s"
