"""A steady state so slow that an outage the run is about could not be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring import durations
from krt_scoring.inputs.reasons import Reason
from krt_scoring.metrics.implied_outages import implied_outages
from krt_scoring.metrics.operations import WRITE
from krt_scoring.verdict import objectives

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_scoring.history.intervals import Interval
    from krt_scoring.inputs.recording import Recording

REMEDY = (
    "Lower recordsPerSecond, run fewer tests at once or on a faster machine, or lengthen "
    "spec.warmup so that the steady state is measured for longer"
)
"""What makes the waits of the steady state shorter, or their percentile steadier."""


def check(
    recording: Recording,
    detection_limits: Mapping[tuple[str, str], int],
    ownerships: Sequence[Interval] = (),
) -> Iterator[Reason]:
    """Yield ``BaselineTooSlow`` where a gap as long as the objective could not be seen.

    Nor, where a fault implies a shorter one, a gap of that length: an outage in between would be
    missing from the results without a word.
    """
    limits = objectives.limits(recording.run.resolved_spec)
    implied = implied_outages(recording, ownerships)
    for kind, detection_limit in sorted(detection_limits.items()):
        direction, group = kind
        name = "maxWriteUnavailability" if direction == WRITE else "maxReadUnavailability"
        outage, fault = implied.get(kind, (detection_limit, ""))
        if detection_limit > limits[name]:
            missed = f"{name} is {durations.show(limits[name])}"
        elif detection_limit > outage:
            missed = f"fault {fault} implies an outage of {durations.show(outage)}"
        else:
            continue
        message = (
            f"only gaps longer than {durations.show(detection_limit)} can be told from the waits "
            f"before any fault, but {missed}. {REMEDY}"
        )
        yield Reason("coverage", "BaselineTooSlow", f"{direction} {group}".strip(), message)
