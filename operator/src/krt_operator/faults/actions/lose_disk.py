"""LoseDisk: a crash that also deletes the volume; the member comes back with an empty one.

The process is killed first, as a broker dies when its disk fails: a shutdown would hand over its
partitions. Then the StatefulSet is scaled to 0 and the claim is deleted. Kubernetes keeps a claim
that a pod still uses, so the revert waits until the old claim is gone and applies a new one.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.api.status import ObservationKind
from krt_operator.build.members import build_member
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.faults.action import Hold, UnresolvedTargetError
from krt_operator.faults.actions.crash_pod import CrashPod, kill_processes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.api.spec import Fault
    from krt_operator.api.status import TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed
    from krt_operator.engine.views import Json
    from krt_operator.faults.action import FaultContext

CLAIM_TIMEOUT: Final = timedelta(minutes=2)
"""How long a claim may take to go after the injection. The killed pod has a grace period of 30 s
and frees its claim within seconds of its end; only another pod that uses the claim keeps it."""


class LoseDisk(CrashPod):
    """Kills the process, then deletes pod and claim."""

    def resolve(
        self, targets: tuple[TargetPod, ...], plan: Plan, observed: Observed
    ) -> tuple[TargetPod, ...]:
        """Add the claim and its uid to each target."""
        return tuple(_with_claim(target, plan, observed) for target in targets)

    def act(self, ctx: FaultContext) -> SideEffect:
        """Kill the processes; `hold` keeps kubelet from restarting them on the old volume."""
        return kill_processes(ctx, "hold")

    def is_lasting(self, fault: Fault) -> bool:
        """Always: the claim is deleted after the pod."""
        del fault
        return True

    def keeps_down(self, fault: Fault) -> bool:
        """Always: a claim is not deleted while a pod uses it."""
        del fault
        return True

    def keeps_pod(self, fault: Fault, *, is_member: bool) -> bool:
        """Never."""
        del fault, is_member
        return False

    def hold(self, ctx: FaultContext) -> Hold:
        """Delete the claims; once they are gone and the duration is over, revert.

        After `CLAIM_TIMEOUT`, the revert has failed.
        """
        remaining = [target for target in ctx.entry.targets if _has_old_claim(ctx, target)]
        if remaining and ctx.now >= (ctx.entry.injected_at or ctx.now) + CLAIM_TIMEOUT:
            return _claims_in_use(remaining, ctx.now)
        if remaining:
            return Hold(side_effects=(_delete_claims(remaining),))
        return Hold() if ctx.now < _revert_due(self, ctx) else self.revert(ctx)

    def revert(self, ctx: FaultContext) -> Hold:
        """Apply new claims; the members start again with them."""
        claims = tuple(claim for target in ctx.entry.targets for claim in _new_claims(ctx, target))
        return Hold(reverted_at=ctx.now, apply=claims, due=_revert_due(self, ctx))


def _with_claim(target: TargetPod, plan: Plan, observed: Observed) -> TargetPod:
    name = names.member_claim(plan.name, target.member)
    claim = observed.claims.get(name)
    if claim is None:
        raise UnresolvedTargetError(f"claim {name} of {target.member} does not exist")
    return target.model_copy(update={"claim": name, "claim_uid": claim["metadata"]["uid"]})


def _has_old_claim(ctx: FaultContext, target: TargetPod) -> bool:
    claim = ctx.observed.claims.get(target.claim)
    return claim is not None and claim["metadata"]["uid"] == target.claim_uid


def _revert_due(action: LoseDisk, ctx: FaultContext) -> datetime:
    """When the duration is over and the last claim was gone."""
    gone = [
        observation.at
        for observation in ctx.entry.observations
        if observation.kind is ObservationKind.VOLUME_GONE
    ]
    return max([action.revert_due(ctx.fault, ctx.entry) or ctx.now, *gone])


def _claims_in_use(targets: Sequence[TargetPod], now: datetime) -> Hold:
    """The revert of a fault whose claims Kubernetes keeps: the run goes on and is inconclusive."""
    claims = [target.claim for target in targets]
    return Hold(
        reverted_at=now,
        # The controller was not late: it could not revert before.
        due=now,
        revert_error=f"{', '.join(claims)}: deleted, and still there "
        f"{CLAIM_TIMEOUT.seconds} s after the process was killed; Kubernetes keeps a claim that a "
        f"pod uses: kubectl describe pvc {claims[0]} names the pod",
    )


def _delete_claims(targets: Sequence[TargetPod]) -> SideEffect:
    def perform(ports: Ports) -> Sequence[Change]:
        for target in targets:
            claim = Deletion("PersistentVolumeClaim", target.claim, target.claim_uid)
            ports.cluster.delete(claim)
        return []

    return SideEffect(f"delete {', '.join(target.claim for target in targets)}", perform)


def _new_claims(ctx: FaultContext, target: TargetPod) -> list[Json]:
    member = ctx.plan.member(target.member)
    if member is None:
        raise ValueError(f"{target.member} is not a member of the plan")
    objects = build_member(ctx.plan, member, ctx.ports.settings.image_pull_policy)
    return [obj for obj in objects if obj["kind"] == "PersistentVolumeClaim"]
