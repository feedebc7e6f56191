"""What must be applied or deleted so that held members are down and all others may run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator import names
from krt_operator.api.status import FaultState
from krt_operator.build.members import member
from krt_operator.build.traffic import traffic_pod, traffic_pods
from krt_operator.ports import Deletion

if TYPE_CHECKING:
    from krt_operator.api.status import Status
    from krt_operator.plan import Plan
    from krt_operator.ports import Json, Observed

ENDED: Final = frozenset({"Succeeded", "Failed"})
"""Phases of a pod that will not run again (`restartPolicy: Never`)."""


def stateful_sets(plan: Plan, world: Observed, held: frozenset[str], pull: str) -> list[Json]:
    """The StatefulSets whose replicas differ from what the holds ask for."""
    found = []
    for one in plan.members:
        wanted = 0 if one.member in held else 1
        there = world.stateful_sets.get(names.of_member(plan.name, one.member))
        if there is not None and there["spec"].get("replicas", 1) != wanted:
            objects = member(plan, one, pull, wanted)
            found += [obj for obj in objects if obj["kind"] == "StatefulSet"]
    return found


def traffic(
    plan: Plan, world: Observed, status: Status, held: frozenset[str], pull: str
) -> tuple[list[Json], list[Deletion]]:
    """Traffic pods that healed faults took away: the dead to delete, the missing to create."""
    missing: list[Json] = []
    dead: list[Deletion] = []
    hit = {
        target.member: target.uid
        for fault in status.faults
        if fault.state is FaultState.HEALED
        for target in fault.targets
    }
    for one in traffic_pods(plan):
        if one.member not in hit or one.member in held:
            continue
        pod = world.pods.get(one.pod)
        if pod is None:
            missing.append(traffic_pod(plan, one, pull))
        elif pod["metadata"]["uid"] == hit[one.member] and _ended(pod):
            dead.append(Deletion("Pod", one.pod, hit[one.member], 0))
    return missing, dead


def _ended(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") in ENDED
