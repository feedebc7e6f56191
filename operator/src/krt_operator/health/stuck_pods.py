"""Members' pods that the scheduler looked at once and left lying. Pure.

kube-scheduler tries an unschedulable pod again when something happens that could let it in, else
only after five minutes (`--pod-max-in-unschedulable-pods-duration`). A member's next pod is tried
right after the one before it was deleted. Where the scheduler refuses it for the anti-affinity of
that one, and takes the deletion for an event from before the try, the pod lies there for those five
minutes with its node free (kubernetes issue 139135; seen with 1.34 in a rolling restart). Nothing
ever ran in such a pod, so it is deleted: the StatefulSet's next one is tried at once.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.engine.ports import Act, Deletion, Happening
from krt_operator.health import pod_state
from krt_operator.health.objects import condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.status import Status
    from krt_operator.engine.ports import (
        Change,
        Json,
        Observed,
        Ports,
    )
    from krt_operator.plan.plan import Plan

PATIENCE: Final = timedelta(seconds=20)
"""How long a member's pod may be unschedulable: twice the longest pause that the scheduler makes
between tries it has cause for (`podMaxBackoffSeconds`, 10 s)."""


def replaced(
    plan: Plan, world: Observed, status: Status
) -> tuple[tuple[Act, ...], tuple[Happening, ...]]:
    """The deletions that let the scheduler try again, and an event for each.

    A pod that an open fault means by its uid is left alone: its end is the fault's to prove.
    """
    meant = {one.uid for fault in status.faults if fault.state.open for one in fault.targets}
    acts, events = [], []
    for member in plan.members:
        pod = world.pods.get(member.pod)
        if pod is None or pod_state.leaving(pod) or pod["metadata"]["uid"] in meant:
            continue
        why, since = _refusal(pod)
        if since is not None and world.at > since + PATIENCE:
            acts.append(_delete(member.pod, pod["metadata"]["uid"]))
            told = f"{member.pod} made anew, unschedulable for {PATIENCE.seconds} s: {why}"
            events.append(Happening("MemberUnscheduled", told, warning=True))
    return tuple(acts), tuple(events)


def _refusal(pod: Json) -> tuple[str, datetime | None]:
    """What the scheduler said when it refused the pod, and since when; None where it did not."""
    refused = condition(pod, "PodScheduled", "False")
    if refused is None or refused.get("reason") != "Unschedulable":
        return "", None
    why = refused.get("message") or "no reason given"
    return why, datetime.fromisoformat(refused["lastTransitionTime"])


def _delete(name: str, uid: str) -> Act:
    def perform(ports: Ports) -> Sequence[Change]:
        ports.cluster.delete(Deletion("Pod", name, uid))
        return ()

    return Act(f"replace unscheduled {name}", perform)
