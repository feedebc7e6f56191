"""Guards: one module for each reason a run can be Inconclusive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.verdict.guards import (
    baseline,
    clocks,
    close_record,
    controller,
    effect,
    leaders,
    log_stable,
    member_left,
    mixed_runs,
    operations_due,
    recorder,
    replicas,
    rows,
    unknowns,
    vanished,
)

if TYPE_CHECKING:
    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.verdict.guards.facts import Facts

GUARDS = (
    baseline,
    clocks,
    close_record,
    controller,
    effect,
    leaders,
    log_stable,
    member_left,
    mixed_runs,
    operations_due,
    recorder,
    replicas,
    rows,
    unknowns,
    vanished,
)
"""Every guard; each has ``check(facts)``, which yields its reasons."""


def check(facts: Facts) -> list[Reason]:
    """Return what all guards found, in order."""
    return sorted(reason for guard in GUARDS for reason in guard.check(facts))
