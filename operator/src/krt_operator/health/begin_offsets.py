"""Where the test begins on topics that were there before it: what lies below is not its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_operator.api.plan import Plan
    from krt_operator.kafka.views import Bounds


def from_begin(plan: Plan, bounds: Iterable[Bounds]) -> list[Bounds]:
    """The bounds of what is the test's: each log starts where the test began, or later.

    A log that ends before that has nothing of the test and starts at its end; what was cut off it
    is for scoring to tell.
    """
    found = []
    for bound in bounds:
        begin = min(plan.begin(bound.topic, bound.partition), bound.high_watermark)
        found.append(replace(bound, log_start=max(bound.log_start, begin)))
    return found
