"""Warnings: numbers of one run that contradict each other, or that are missing.

A warning decides nothing. Latencies that do not fit the gaps have innocent causes too: a backlog
that drains slowly delays every record without any time in which nothing succeeded. A transform
that is not one to one shows in the anomalies, which are judged by what the configuration permits.
So both are reported beside the verdict, and a person decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring import durations
from krt_scoring.metrics.gaps import MIN_WAITS
from krt_scoring.metrics.operations import READ, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.metrics.measures import Measures
    from krt_scoring.metrics.transactions import Transactions

FAR_ABOVE = 2
"""By how many times the longest gap that fits what was seen the latency must have risen: an
operation waits for the gap, and then for the operations ahead of it in the backlog."""


@dataclass(frozen=True, slots=True, order=True)
class MeasurementWarning:
    """One contradiction, or one number that is missing.

    Attributes:
        code: stable, in CamelCase.
        subject: the direction and group it is about.
        message: a sentence a person can act on.
    """

    code: str
    subject: str
    message: str

    def as_dict(self) -> dict[str, str]:
        """Return the warning as the scorecard holds it."""
        return {"code": self.code, "subject": self.subject, "message": self.message}


def check(measures: Measures) -> Iterator[MeasurementWarning]:
    """Yield the warnings of a run, in a fixed order."""
    yield from _latencies(measures)
    yield from _unmeasured(measures)
    if measures.transactions is not None:
        yield from _transforms(measures.transactions)


def _transforms(transactions: Transactions) -> Iterator[MeasurementWarning]:
    """Yield ``TransformNotOneToOne``."""
    for item in transactions.transforms:
        if not item.one_to_one:
            message = (
                f"of {item.inputs} committed inputs {item.without_output} have no output and "
                f"{item.shared} share one with another input; of {item.outputs} committed outputs "
                f"{item.without_input} have no input. See the anomalies for which records"
            )
            yield MeasurementWarning("TransformNotOneToOne", item.group, message)


def _unmeasured(measures: Measures) -> Iterator[MeasurementWarning]:
    """Yield ``UnavailabilityNotMeasured`` for what has no detection limit where others have one.

    Where nothing has one, the objectives are not evaluated, and say so themselves.
    """
    if not measures.detection_limits:
        return
    operations = {(kind, group) for kind, group, _ in measures.counts.latencies.histograms}
    unmeasured = {kind for kind in operations if kind[0] in {READ, WRITE}}
    for direction, group in sorted(unmeasured - measures.detection_limits.keys()):
        message = (
            f"there were fewer than {MIN_WAITS} waits between two successes before the first "
            "fault, so nothing says how long a wait is too long: outages of this kind are in no "
            "result. Lengthen spec.warmup, or raise recordsPerSecond"
        )
        yield MeasurementWarning(
            "UnavailabilityNotMeasured", f"{direction} {group}".strip(), message
        )


def _latencies(measures: Measures) -> Iterator[MeasurementWarning]:
    """Yield ``LatencyExceedsGaps`` where latencies under the faults do not fit the longest gap.

    The 99th percentiles are compared: a single slow operation among others that succeed is no gap.
    """
    latencies = measures.counts.latencies
    for (direction, group), limit in sorted(measures.detection_limits.items()):
        during = latencies.over(direction, "during", group=group)
        before = latencies.over(direction, "before", group=group)
        longest = measures.longest_gap(direction, group)
        explained = FAR_ABOVE * max(longest or 0, limit)
        if during.percentile(99) <= before.percentile(99) + explained:
            continue
        gap = durations.show_longest(longest, limit)
        message = (
            f"the 99th percentile of {direction} latencies rose from "
            f"{durations.show(before.percentile(99))} before the faults to "
            f"{durations.show(during.percentile(99))} during them, but the longest gap is {gap}. "
            "Either operations went on slowly throughout, or an outage was not seen: look at the "
            "latencies and the client's errors, and lower recordsPerSecond if a backlog built up"
        )
        yield MeasurementWarning("LatencyExceedsGaps", f"{direction} {group}".strip(), message)
