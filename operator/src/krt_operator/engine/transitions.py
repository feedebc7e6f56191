"""The phases' order as data: drawn in docs/images/phases.svg, asserted in tests.

A run only goes forward. Whatever ends it early leads through CleaningUp, which reverts faults and
deletes objects, to the terminal phase of its ending.
"""

from __future__ import annotations

from typing import Final

from krt_operator.api.status import Phase

TRANSITIONS: Final[dict[Phase, tuple[Phase, ...]]] = {
    Phase.PENDING: (Phase.PROVISIONING, Phase.CLEANING_UP),
    Phase.PROVISIONING: (Phase.WARMUP, Phase.CLEANING_UP),
    Phase.WARMUP: (Phase.INJECTING, Phase.CLEANING_UP),
    Phase.INJECTING: (Phase.DRAINING, Phase.CLEANING_UP),
    Phase.DRAINING: (Phase.DUMPING_REPLICAS, Phase.SCORING, Phase.CLEANING_UP),
    Phase.DUMPING_REPLICAS: (Phase.SCORING, Phase.CLEANING_UP),
    Phase.SCORING: (Phase.CLEANING_UP,),
    Phase.CLEANING_UP: (Phase.COMPLETED, Phase.ERROR, Phase.ABORTED),
    Phase.COMPLETED: (),
    Phase.ERROR: (),
    Phase.ABORTED: (),
}


def allowed(before: Phase, after: Phase) -> bool:
    """Whether a run may go from one phase to the other."""
    return after in TRANSITIONS[before]
