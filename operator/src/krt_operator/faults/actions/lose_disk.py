"""LoseDisk: a crash that takes the volume along; the member comes back with an empty one.

The process is killed first, as a broker dies of its disk: a shutdown would hand over. Then the pod
goes with the hold and the claim with it. Kubernetes keeps a claim that a pod still uses until that
is gone, so the revert waits for the old claim to vanish and applies a new one in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import ObservationKind
from krt_operator.build.members import member
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.faults.action import Hold
from krt_operator.faults.actions.crash_pod import killing, outcome
from krt_operator.faults.schedule import revert_due

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.status import TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.engine.views import Json
    from krt_operator.faults.action import Scene

__all__ = ["act", "hold", "outcome"]


def act(scene: Scene) -> SideEffect:
    """Kill the processes; their wrappers keep kubelet from starting them on the old volume."""
    return killing(scene, "hold")


def hold(scene: Scene) -> Hold:
    """Delete the claims; when they are gone and `duration` is over, apply new ones."""
    entry = scene.entry
    left = [one for one in entry.targets if _there(scene, one)]
    if left:
        return Hold(acts=(_delete(left),))
    due = max([revert_due(scene.fault, entry) or scene.now, *_gone(scene)])
    if scene.now < due:
        return Hold()
    claims = tuple(claim for one in entry.targets for claim in _claim(scene, one))
    return Hold(reverted_at=scene.now, apply=claims, due=due)


def _there(scene: Scene, target: TargetPod) -> bool:
    claim = scene.world.claims.get(target.claim)
    return claim is not None and claim["metadata"]["uid"] == target.claim_uid


def _gone(scene: Scene) -> list[datetime]:
    return [one.at for one in scene.entry.observations if one.kind is ObservationKind.VOLUME_GONE]


def _delete(targets: Sequence[TargetPod]) -> SideEffect:
    def perform(ports: Ports) -> Sequence[Change]:
        for one in targets:
            ports.cluster.delete(Deletion("PersistentVolumeClaim", one.claim, one.claim_uid))
        return []

    return SideEffect(f"delete {', '.join(one.claim for one in targets)}", perform)


def _claim(scene: Scene, target: TargetPod) -> list[Json]:
    found = scene.plan.member(target.member)
    if found is None:
        raise ValueError(f"{target.member} is no member of the plan")
    objects = member(scene.plan, found, scene.ports.settings.image_pull_policy, 1)
    return [one for one in objects if one["kind"] == "PersistentVolumeClaim"]
