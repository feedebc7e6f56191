"""The objectives of a run: limits from ``spec.scoring.objectives``, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
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

UNITS = {"lostRecords": "records"}
"""Objectives that are counts; every other is a duration in µs."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One limit and the measured value.

    Attributes:
        limit: largest value that meets it, µs or a count.
        value: what was measured; None where nothing was (then it is met).
        ended: the value is final; where False (still not recovered at the run's end) it is a
            lower bound and the objective is missed.
        detection_limit: of an unavailability, the length below which a gap may be unseen, µs; None
            where nothing could be measured. It does not decide whether the objective is met: a
            detection limit above ``limit`` makes the run Inconclusive.
        affected: of the recovery, False where no fault took anything away.
    """

    name: str
    limit: int
    value: int | None
    ended: bool = True
    detection_limit: int | None = None
    affected: bool = True

    @property
    def worst(self) -> int | None:
        """The largest value that fits what was seen; None where nothing was measured."""
        known = [bound for bound in (self.value, self.detection_limit) if bound is not None]
        return max(known, default=None)

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
        known = {"value": self.value, "detectionLimit": self.detection_limit}
        return {
            "name": self.name,
            "limit": self.limit,
            "met": self.met,
            "unit": self.unit,
            **{key: value for key, value in known.items() if value is not None},
            **({} if self.affected else {"affected": False}),
            **({} if self.ended else {"atLeast": True}),
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
    *,
    detection_limits: Mapping[str, int | None] = MappingProxyType({}),
    unaffected: Container[str] = (),
) -> tuple[Objective, ...]:
    """Return each requested objective with what was measured, in order of name.

    Args:
        requested: objective to limit.
        measured: objective to value; None where nothing could be measured.
        unended: objectives whose value is only a lower bound.
        detection_limits: objective to the value below which nothing can be seen, µs.
        unaffected: objectives about something that did not occur.
    """
    return tuple(
        Objective(
            name,
            requested[name],
            measured.get(name),
            name not in unended,
            detection_limits.get(name),
            name not in unaffected,
        )
        for name in sorted(requested)
    )
