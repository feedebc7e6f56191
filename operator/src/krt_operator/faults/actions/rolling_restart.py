"""RollingRestart: deletes one member after another, each when the cluster has recovered.

The journal names every member with the uid that its pod had, so the members that are still to be
restarted are those whose pod has that uid. No two are ever down at the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import FaultState, ObservationKind
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.engine.views import PodView
from krt_operator.faults.action import FaultAction, Hold
from krt_operator.faults.deletions import grace_period_ends_at, request_time
from krt_operator.faults.kafka_state import servers_without_quorum
from krt_operator.health import recovery

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.spec import Fault
    from krt_operator.api.status import FaultStatus, TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import FaultContext


class RollingRestart(FaultAction):
    """Deletes the targets gracefully, one at a time."""

    hits_all = True
    ends_after_duration = False

    def is_lasting(self, fault: Fault) -> bool:
        """Always: `act` restarts only the first member."""
        del fault
        return True

    def revert_due(self, fault: Fault, entry: FaultStatus) -> None:
        """Never at a set time: it is over when its last member was restarted."""
        del fault, entry

    def act(self, ctx: FaultContext) -> SideEffect:
        """Delete the first member, with the grace period of its pod."""
        entry = ctx.entry
        first = entry.targets[0]

        def perform(ports: Ports) -> Sequence[Change]:
            # Before the request: a broker may hand over its partitions before the answer is here.
            requested = ports.clock.now()
            deleted = ports.cluster.delete(Deletion("Pod", first.pod, first.uid))
            at = request_time(ctx, (first,), requested, answered=deleted)
            return [journal.fault(entry.name, state=FaultState.INJECTED, injected_at=at)]

        return SideEffect(f"restart {first.pod}", perform)

    def hold(self, ctx: FaultContext) -> Hold:
        """Delete the next member once the cluster has recovered from the restart before."""
        remaining = [target for target in ctx.entry.targets if ctx.observed.target_pod(target)]
        if not remaining:
            return self.revert(ctx)
        limit = ctx.plan.spec.timeouts.recovery
        ending = [pod for target in remaining if (pod := PodView(ctx.pods[target.pod])).deleting]
        if ending:
            if ctx.now <= max(grace_period_ends_at(pod.raw) for pod in ending) + limit.delta:
                return Hold()
            stuck = ", ".join(pod.name for pod in ending)
            return _incomplete(
                ctx,
                remaining,
                f"pod {stuck} is still terminating {limit} after its grace period; check its node",
            )
        missing = _missing_for_next(ctx)
        if not missing:
            return Hold(side_effects=(_restart(remaining[0]),))
        if ctx.now <= _last_restart(ctx) + limit.delta:
            return Hold()
        return _incomplete(
            ctx,
            remaining,
            f"the cluster did not recover within {limit} of the restart before: {missing}",
        )

    def revert(self, ctx: FaultContext) -> Hold:
        """Over as soon as the last member was restarted."""
        return Hold(reverted_at=ctx.now, due=ctx.now)


def _incomplete(ctx: FaultContext, remaining: Sequence[TargetPod], reason: str) -> Hold:
    members = ", ".join(target.member for target in remaining)
    return Hold(reverted_at=ctx.now, due=ctx.now, incomplete=f"{members} not restarted: {reason}")


def _missing_for_next(ctx: FaultContext) -> str:
    """What the cluster lacks before the next restart, as a sentence; empty where nothing."""
    pods = recovery.missing_pod(ctx.plan, ctx.pods, ctx.unavailable, frozenset())
    if pods:
        return pods
    servers = servers_without_quorum(ctx.plan, ctx.ports, ctx.unavailable)
    if servers:
        return f"ZooKeeper server {servers[0]} does not serve requests"
    view = ctx.view()
    if view is None:
        return "no broker answers"
    return recovery.missing_replica(ctx.plan, view, ctx.unavailable)


def _last_restart(ctx: FaultContext) -> datetime:
    """When the deletion of the last restarted pod was observed."""
    deleted = [
        observation.at
        for observation in ctx.entry.observations
        if observation.kind is ObservationKind.POD_DELETED
    ]
    return max(deleted, default=ctx.entry.injected_at or ctx.now)


def _restart(target: TargetPod) -> SideEffect:
    def perform(ports: Ports) -> Sequence[Change]:
        ports.cluster.delete(Deletion("Pod", target.pod, target.uid))
        return []

    return SideEffect(f"restart {target.pod}", perform)
