"""When pods were asked to end, by this pass or by one that failed before it was journalled."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.api.status import TargetPod
    from krt_operator.engine.views import Json
    from krt_operator.faults.action import FaultContext


def request_time(
    ctx: FaultContext, targets: Sequence[TargetPod], requested: datetime, *, answered: bool
) -> datetime:
    """When the first of these pods was asked to end: no effect of the fault is earlier.

    An earlier pass may have made the request and failed before it was journalled. Then a pod has a
    deletion timestamp, which is the time of the request and the grace period, or is gone.

    Args:
        ctx: the fault, with the pods as they were before this request.
        targets: the pods.
        requested: when this pass made its first request.
        answered: whether this pass found any of them.
    """
    begun = ctx.entry.scheduled_at or requested
    found = (ctx.observed.target_pod(target) for target in targets)
    before = [at for pod in found if pod and (at := _deletion_requested_at(pod)) is not None]
    if before:
        return max(begun, min(*before, requested))
    return requested if answered else begun


def grace_period_ends_at(pod: Json) -> datetime:
    """When a pod that is being deleted is to have ended."""
    return datetime.fromisoformat(pod["metadata"]["deletionTimestamp"])


def _deletion_requested_at(pod: Json) -> datetime | None:
    """When the pod was asked to end, cut to the second; None where it was not."""
    metadata = pod["metadata"]
    if "deletionTimestamp" not in metadata:
        return None
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return grace_period_ends_at(pod) - grace
