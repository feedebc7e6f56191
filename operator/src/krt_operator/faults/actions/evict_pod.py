"""EvictPod: evicts the pod as `kubectl drain` does; its disruption budget may refuse.

A refusal is an outcome, not a failure. The API server's message is recorded as an observation, and
the pod is neither kept down nor waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import FaultState, Observation, ObservationKind
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.engine.remedies import cut
from krt_operator.faults.action import FaultAction, Hold, keep_down, pod_names
from krt_operator.faults.deletions import request_time
from krt_operator.faults.verification import refused_evictions, verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.spec import Fault
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import FaultContext


class EvictPod(FaultAction):
    """Asks for the eviction of the targets by uid and keeps down those that were evicted."""

    def keeps_down(self, fault: Fault) -> bool:
        """Only with a duration; a pod whose eviction was refused keeps running anyway."""
        return fault.duration.micros > 0

    def act(self, ctx: FaultContext) -> SideEffect:
        """Ask for the evictions, scale the StatefulSets of evicted members to 0, journal both."""
        fault, entry = ctx.fault, ctx.entry

        def perform(ports: Ports) -> Sequence[Change]:
            refusals, answered = [], False
            # Before the request: a broker may hand over its partitions before the answer is here.
            requested = ports.clock.now()
            for target in entry.targets:
                deletion = Deletion("Pod", target.pod, target.uid, fault.grace_period_seconds)
                eviction = ports.cluster.evict(deletion)
                answered |= eviction.evicted or bool(eviction.refused)
                if eviction.refused:
                    refusals.append(
                        Observation(
                            kind=ObservationKind.EVICTION_REFUSED,
                            subject=target.pod,
                            at=ports.clock.now(),
                            detail=cut(eviction.refused),
                        )
                    )
            injected = journal.fault(
                fault.name,
                state=FaultState.INJECTED,
                injected_at=request_time(ctx, entry.targets, requested, answered=answered),
                **vars(verify(fault, entry, ctx.plan, refusals)),
            )
            if len(refusals) < len(entry.targets):
                keep_down(ctx, injected, ports)
            return [injected]

        return SideEffect(f"evict {pod_names(entry.targets)}", perform)

    def hold(self, ctx: FaultContext) -> Hold:
        """Until the duration is over; reverted at once where every eviction was refused."""
        if refused_evictions(ctx.entry) == {target.pod for target in ctx.entry.targets}:
            return Hold(reverted_at=ctx.entry.injected_at)
        return super().hold(ctx)
