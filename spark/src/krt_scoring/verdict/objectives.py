"""The objectives of a run: limits from ``spec.scoring.objectives``, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_contract.durations import MICROS, Duration

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

DEFAULTS: dict[str, int] = {
    "lostRecords": 0,
    "maxWriteUnavailability": 15 * MICROS["s"],
    "maxReadUnavailability": 20 * MICROS["s"],
    "maxRecovery": 90 * MICROS["s"],
}
"""Limits where the resource sets none (records; µs)."""

UNITS = {
    "lostRecords": "records",
    "duplicateDeliveries": "deliveries",
    "unknownPermille": "permille",
}
"""Objectives that are counts; every other is a duration in µs."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One limit and the measured value.

    Attributes:
        limit: largest value that meets it, µs or a count.
        value: what was measured; None where nothing could be (then it is met).
        ended: the value is final; where False (still not recovered at the run's end) it is a
            lower bound and the objective is missed.
    """

    name: str
    limit: int
    value: int | None
    ended: bool = True

    @property
    def met(self) -> bool:
        """Whether the run met the limit."""
        return self.value is None or (self.ended and self.value <= self.limit)

    @property
    def unit(self) -> str:
        """Unit of limit and value."""
        return UNITS.get(self.name, "us")

    def as_dict(self) -> dict[str, Any]:
        """Return the objective as the scorecard holds it; ``value`` only where measured."""
        measured = {} if self.value is None else {"value": self.value}
        return {
            "name": self.name,
            "limit": self.limit,
            "met": self.met,
            "unit": self.unit,
            **measured,
        }


def limits(spec: Mapping[str, Any]) -> dict[str, int]:
    """Return objective → limit (µs or count): the resource's, else the default."""
    found = dict(DEFAULTS)
    for name, value in ((spec.get("scoring") or {}).get("objectives") or {}).items():
        if value is None:
            continue
        found[name] = Duration.parse(value).micros if isinstance(value, str) else int(value)
    return found


def evaluate(
    requested: Mapping[str, int],
    measured: Mapping[str, int | None],
    unended: Container[str] = (),
) -> tuple[Objective, ...]:
    """Return each requested objective with what was measured, in order of name.

    Args:
        requested: objective to limit.
        measured: objective to value; None where nothing could be measured.
        unended: objectives whose value is only a lower bound.
    """
    return tuple(
        Objective(name, requested[name], measured.get(name), name not in unended)
        for name in sorted(requested)
    )
