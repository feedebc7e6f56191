"""Members' pods that the scheduler tried once and does not try again. Pure.

kube-scheduler retries an unschedulable pod when an event could make it schedulable, else only
after five minutes (`--pod-max-in-unschedulable-pods-duration`). A member's next pod is tried right
after the previous one was deleted. Where the scheduler refuses it because of the previous pod's
anti-affinity, and takes the deletion for an event from before the try, the pod waits those five
minutes although its node is free (kubernetes issue 139135; seen with 1.34 in a rolling restart).
Nothing ever ran in such a pod, so it is deleted: the StatefulSet's next pod is tried at once.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_operator.engine.progress import Deletion, Event, SideEffect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.plan import Plan
    from krt_operator.api.status import Status
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed
    from krt_operator.engine.views import ConditionView, PodView

PATIENCE: Final = timedelta(seconds=20)
"""How long a member's pod may be unschedulable: twice the longest back-off of the scheduler
between tries that an event causes (`podMaxBackoffSeconds`, 10 s)."""


def replacements(
    plan: Plan, observed: Observed, status: Status
) -> tuple[tuple[SideEffect, ...], tuple[Event, ...]]:
    """The deletions that make the scheduler try again, and an event for each.

    A pod that an open fault targets by its uid is left alone: the fault observes how it ends.
    """
    targeted = {
        target.uid for fault in status.faults if fault.state.open for target in fault.targets
    }
    side_effects, events = [], []
    for member in plan.members:
        pod = observed.pod(member.pod)
        if pod is None or pod.deleting or pod.uid in targeted:
            continue
        unscheduled = _unschedulable(pod)
        if unscheduled is not None and observed.at > unscheduled.since + PATIENCE:
            side_effects.append(_delete(pod))
            message = (
                f"{pod.name} was replaced because it was unschedulable for {PATIENCE.seconds} s: "
                f"{unscheduled.message or 'the scheduler gives no reason'}"
            )
            events.append(Event("MemberUnscheduled", message, warning=True))
    return tuple(side_effects), tuple(events)


def _unschedulable(pod: PodView) -> ConditionView | None:
    """The condition with which the scheduler refused the pod; None where it did not."""
    unscheduled = pod.condition("PodScheduled", "False")
    if unscheduled is None or unscheduled.reason != "Unschedulable":
        return None
    return unscheduled


def _delete(pod: PodView) -> SideEffect:
    def perform(ports: Ports) -> Sequence[Change]:
        ports.cluster.delete(Deletion("Pod", pod.name, pod.uid))
        return ()

    return SideEffect(f"replace unschedulable {pod.name}", perform)
