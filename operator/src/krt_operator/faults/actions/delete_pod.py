"""DeletePod: what Kubernetes means by deleting a pod; Kafka gets SIGTERM first, whatever grace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import FaultState
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.faults.action import hold_down, journaled, until_due

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import Scene

hold = until_due
outcome = journaled


def act(scene: Scene) -> SideEffect:
    """Delete the targets by uid, hold their members down at once, say when."""
    fault, entry = scene.fault, scene.entry

    def perform(ports: Ports) -> Sequence[Change]:
        hit = [
            ports.cluster.delete(
                Deletion("Pod", target.pod, target.uid, fault.grace_period_seconds)
            )
            for target in entry.targets
        ]
        # Where all were gone, an earlier try of this act did it right after the intent.
        at = ports.clock.now() if any(hit) else entry.scheduled_at
        injected = journal.fault(fault.name, state=FaultState.INJECTED, injected_at=at)
        hold_down(scene, injected, ports)
        return [injected]

    return SideEffect(f"delete {', '.join(one.pod for one in entry.targets)}", perform)
