"""DeletePod: deletes the pod through the API; Kafka gets SIGTERM, even with grace period 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import FaultState
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.faults.action import FaultAction, keep_down, pod_names
from krt_operator.faults.deletions import request_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.spec import Fault
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import FaultContext


class DeletePod(FaultAction):
    """Deletes the targets by uid and keeps their members down while the fault is active."""

    def keeps_down(self, fault: Fault) -> bool:
        """Only with a duration."""
        return fault.duration.micros > 0

    def act(self, ctx: FaultContext) -> SideEffect:
        """Delete the targets, scale their StatefulSets to 0 and journal the time."""
        fault, entry = ctx.fault, ctx.entry

        def perform(ports: Ports) -> Sequence[Change]:
            # Before the request: a broker may hand over its partitions before the answer is here.
            requested = ports.clock.now()
            deleted = [
                ports.pods_of(ctx.plan.spec, target).delete(
                    Deletion("Pod", target.pod, target.uid, fault.grace_period_seconds)
                )
                for target in entry.targets
            ]
            at = request_time(ctx, entry.targets, requested, answered=any(deleted))
            injected = journal.fault(fault.name, state=FaultState.INJECTED, injected_at=at)
            keep_down(ctx, injected, ports)
            return [injected]

        return SideEffect(f"delete {pod_names(entry.targets)}", perform)
