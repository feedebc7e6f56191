"""RollingRestart: one member after another is deleted gracefully, each when all is whole again.

The intent names every member with the uid it had, so what is still to be done can be read off the
pods: those that have their uid yet. No two are ever down at once, whoever looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import FaultState, ObservationKind
from krt_operator.engine import journal
from krt_operator.engine.progress import Deletion, SideEffect
from krt_operator.faults.action import Hold, journaled, standing
from krt_operator.faults.hold import absent
from krt_operator.faults.kafka_state import silent_servers
from krt_operator.health import recovery

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.api.status import TargetPod
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import Scene

outcome = journaled


def act(scene: Scene) -> SideEffect:
    """Delete the first member, with the time its pod gives it to shut down."""
    entry = scene.entry
    first = entry.targets[0]

    def perform(ports: Ports) -> Sequence[Change]:
        hit = ports.cluster.delete(Deletion("Pod", first.pod, first.uid))
        # Where it was gone, an earlier try of this act did it right after the intent.
        at = ports.clock.now() if hit else entry.scheduled_at
        return [journal.fault(entry.name, state=FaultState.INJECTED, injected_at=at)]

    return SideEffect(f"restart {first.pod}", perform)


def hold(scene: Scene) -> Hold:
    """Delete the next member once the one before is back and the cluster is whole."""
    left = [one for one in scene.entry.targets if standing(scene.pods, one)]
    if any("deletionTimestamp" in scene.pods[one.pod]["metadata"] for one in left):
        return Hold()
    if not left:
        return Hold(reverted_at=scene.now, due=scene.now)
    lacking = _lacking(scene)
    if not lacking:
        return Hold(acts=(_delete(left[0]),))
    limit = scene.plan.spec.timeouts.recovery.delta
    if scene.now > _last(scene) + limit:
        names = ", ".join(one.member for one in left)
        return Hold(
            reverted_at=scene.now,
            due=scene.now,
            cut_short=f"{names} not restarted: not whole {scene.plan.spec.timeouts.recovery} after "
            f"the restart before: {lacking}",
        )
    return Hold()


def _lacking(scene: Scene) -> str:
    out = absent(scene.status, scene.run.spec)
    lacking = recovery.missing_pod(scene.plan, scene.pods, out, frozenset())
    if lacking:
        return lacking
    silent = silent_servers(scene.plan, scene.ports, out)
    if silent:
        return f"ZooKeeper server {silent[0]} does not serve"
    view = scene.view()
    return "no broker answers" if view is None else recovery.missing_replica(scene.plan, view, out)


def _last(scene: Scene) -> datetime:
    """When the last restart so far was seen."""
    gone = [one.at for one in scene.entry.observations if one.kind is ObservationKind.POD_DELETED]
    return max(gone, default=scene.entry.injected_at or scene.now)


def _delete(target: TargetPod) -> SideEffect:
    def perform(ports: Ports) -> Sequence[Change]:
        ports.cluster.delete(Deletion("Pod", target.pod, target.uid))
        return []

    return SideEffect(f"restart {target.pod}", perform)
