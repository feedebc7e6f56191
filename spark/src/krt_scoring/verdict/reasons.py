"""The reasons of a run for Inconclusive: from its files, timeline, rules and guards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from krt_scoring.anomalies import lost_write
from krt_scoring.verdict.guards.registry import check_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.verdict.guards.registry import GuardInputs


def collect(given: GuardInputs) -> list[Reason]:
    """Return the reasons of a run, each once and in order; without that of the self-test.

    Args:
        given: the results of the steps before the guards.
    """
    reasons = sorted(
        {
            *given.recording.inspection.reasons,
            *given.recording.timeline.reasons,
            *given.detection.reasons,
            *check_all(given),
        }
    )
    if lost_write.BASIS_DELIVERIES in given.detection.anomaly(lost_write.NAME).detail:
        return extend_to_lost_writes(reasons)
    return reasons


def extend_to_lost_writes(reasons: Iterable[Reason]) -> list[Reason]:
    """Return the reasons as they apply where losses were found by deliveries alone.

    Then lost-write rests on the consumers' ledgers as well: what invalidates the order of
    deliveries invalidates those losses.
    """
    return [
        replace(reason, invalidates=(*reason.invalidates, lost_write.NAME))
        if "poll-skip" in reason.invalidates and lost_write.NAME not in reason.invalidates
        else reason
        for reason in reasons
    ]
