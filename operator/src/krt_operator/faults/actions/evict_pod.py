"""EvictPod: what `kubectl drain` does; the pod's disruption budget may refuse it, and that is said.

A refusal is an outcome, not a failure: it is proved by the API server's own words, and the pod it
was refused for is neither held down nor waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import FaultState, Observation, ObservationKind
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.faults.action import (
    Hold,
    hold_down,
    journaled,
    until_due,
)
from krt_operator.faults.hold import refused
from krt_operator.faults.observations import merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import Scene

outcome = journaled


def act(scene: Scene) -> SideEffect:
    """Ask for the eviction of each target by uid; hold down those that were evicted."""
    fault, entry = scene.fault, scene.entry

    def perform(ports: Ports) -> Sequence[Change]:
        observations, answered = [], False
        for one in entry.targets:
            deletion = Deletion("Pod", one.pod, one.uid, fault.grace_period_seconds)
            answer = ports.cluster.evict(deletion)
            answered |= answer.evicted or bool(answer.refused)
            if answer.refused:
                observations.append(
                    Observation(
                        kind=ObservationKind.EVICTION_REFUSED,
                        subject=one.pod,
                        at=ports.clock.now(),
                        detail=journal.cut(answer.refused),
                    )
                )
        # Where all were gone, an earlier try of this act did it right after the intent.
        injected = journal.fault(
            fault.name,
            state=FaultState.INJECTED,
            injected_at=ports.clock.now() if answered else entry.scheduled_at,
            **vars(merge(fault, entry, scene.plan, observations)),
        )
        if len(observations) < len(entry.targets):
            hold_down(scene, injected, ports)
        return [injected]

    return SideEffect(f"evict {', '.join(one.pod for one in entry.targets)}", perform)


def hold(scene: Scene) -> Hold:
    """Over when `duration` is, and at once where every eviction was refused."""
    entry = scene.entry
    if refused(entry) == {one.pod for one in entry.targets}:
        return Hold(reverted_at=entry.injected_at)
    return until_due(scene)
