"""A baseline so slow that the gaps the objectives are about could not be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring import durations
from krt_scoring.inputs.reasons import Reason
from krt_scoring.metrics.operations import WRITE
from krt_scoring.verdict import objectives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.verdict.guards.facts import Facts


def check(facts: Facts) -> Iterator[Reason]:
    """Yield ``BaselineTooSlow`` where the threshold of a gap lies above the objective."""
    limits = objectives.limits(facts.run.resolved_spec)
    for (direction, group), threshold in sorted(facts.thresholds.items()):
        name = "maxWriteUnavailability" if direction == WRITE else "maxReadUnavailability"
        if threshold > limits[name]:
            message = (
                f"3 times the steady 99th percentile is {durations.show(threshold)}, above "
                f"{name} {durations.show(limits[name])}: the machine was too busy before any "
                "fault for a gap of that length to be seen"
            )
            subject = f"{direction} {group}".strip()
            yield Reason("coverage", "BaselineTooSlow", subject, message)
