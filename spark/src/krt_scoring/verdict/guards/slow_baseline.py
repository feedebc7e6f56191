"""A baseline so slow that a gap beyond the objective could not be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring import durations
from krt_scoring.inputs.reasons import Reason
from krt_scoring.metrics.operations import WRITE
from krt_scoring.verdict import objectives

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_contract.plan import Plan


def check(run: Plan, thresholds: Mapping[tuple[str, str], int]) -> Iterator[Reason]:
    """Yield ``BaselineTooSlow`` where the threshold of a gap is above the objective."""
    limits = objectives.limits(run.resolved_spec)
    for (direction, group), threshold in sorted(thresholds.items()):
        name = "maxWriteUnavailability" if direction == WRITE else "maxReadUnavailability"
        if threshold > limits[name]:
            message = (
                f"only gaps above {durations.show(threshold)}, 3 times the 99th percentile before "
                f"any fault, can be seen, but {name} is {durations.show(limits[name])}. Give the "
                "test a less busy machine or a larger objective"
            )
            subject = f"{direction} {group}".strip()
            yield Reason("coverage", "BaselineTooSlow", subject, message)
