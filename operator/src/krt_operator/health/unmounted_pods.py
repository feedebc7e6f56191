"""Pods that were scheduled, and whose kubelet does not get their volumes mounted. Pure.

A kubelet reads the claims of a new pod from the API server, which refuses it ("no relationship
found between node and this object") until its node authorizer has seen that the pod is on that
node. On a busy control plane the kubelet asks too early (kubernetes issue 113429), and tries again
only after its back-off of 10 to 15 s (`backOffPeriod`, with a jitter of a half). A change of the
pod makes it try at once: an annotation is enough, and it changes nothing else.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from krt_contract.labels import ANNOTATION_MOUNT_RETRIED
from krt_operator.api.times import format_time
from krt_operator.engine.progress import SideEffect
from krt_operator.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change, Observed
    from krt_operator.engine.views import PodView

PATIENCE: Final = timedelta(seconds=2)
"""From when a pod was scheduled, or was annotated last, until it is annotated: volumes that can be
mounted are there within a second, and times of conditions have whole seconds."""

LIMIT: Final = timedelta(seconds=20)
"""From when a pod was scheduled until it is left alone: what takes longer than the kubelet's own
back-off has another cause."""


def mount_retries(observed: Observed) -> tuple[SideEffect, ...]:
    """The annotations that make the kubelets of such pods try again."""
    return tuple(_retry(pod, observed.at) for pod in observed.pod_views() if _due(pod, observed.at))


def _due(pod: PodView, at: datetime) -> bool:
    scheduled = pod.condition("PodScheduled")
    # Where it is True, the volumes are mounted, and images may be pulled.
    mounted = pod.condition("PodReadyToStartContainers") is not None
    if scheduled is None or mounted or pod.deleting or pod.phase != "Pending":
        return False
    retried = pod.annotations.get(ANNOTATION_MOUNT_RETRIED)
    last = scheduled.since if retried is None else datetime.fromisoformat(retried)
    return last + PATIENCE <= at <= scheduled.since + LIMIT


def _retry(pod: PodView, at: datetime) -> SideEffect:
    def perform(ports: Ports) -> Sequence[Change]:
        # Where a policy refuses it, the pod starts as late as it would have.
        with suppress(RefusedError):
            annotations = {ANNOTATION_MOUNT_RETRIED: format_time(at)}
            ports.cluster.annotate_pod(pod.name, pod.uid, annotations)
        return ()

    return SideEffect(f"have the kubelet mount the volumes of {pod.name}", perform)
