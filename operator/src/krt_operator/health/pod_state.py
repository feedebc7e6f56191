"""What pods say about themselves, read the same way by every phase. Pure."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from krt_operator.constants import IMAGE_PATIENCE
from krt_operator.errors import UserError
from krt_operator.health.objects import condition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_operator.engine.ports import Json

PULL_FAILURES: Final = frozenset({"ErrImagePull", "ImagePullBackOff"})
HOPELESS: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})


def ready(pod: Json | None) -> bool:
    """Whether the pod is there, stays, and its Ready condition is True."""
    return pod is not None and not leaving(pod) and condition(pod, "Ready") is not None


def running(pod: Json | None) -> bool:
    """Whether the pod's containers have been started and have not ended."""
    return pod is not None and not leaving(pod) and pod.get("status", {}).get("phase") == "Running"


def over(pod: Json) -> bool:
    """Whether every container of the pod has ended for good."""
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def leaving(pod: Json) -> bool:
    """Whether the pod is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def end(pod: Json) -> tuple[int | None, str]:
    """Exit code and termination message of the pod's first container; None where unknown."""
    for status in pod.get("status", {}).get("containerStatuses") or []:
        ended = status.get("state", {}).get("terminated")
        if ended is not None:
            return ended.get("exitCode"), ended.get("message") or ended.get("reason") or ""
    return None, pod.get("status", {}).get("message") or pod.get("status", {}).get("reason") or ""


def started(pod: Json) -> datetime | None:
    """Since when the pod's first container runs, or ran; None where it has not been started."""
    for status in pod.get("status", {}).get("containerStatuses") or []:
        state = status.get("state", {})
        at = (state.get("running") or state.get("terminated") or {}).get("startedAt")
        return datetime.fromisoformat(at) if at else None
    return None


def message_json(text: str) -> dict[str, Any]:
    """A termination message as JSON; empty where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def age(obj: Json, now: datetime) -> float:
    """Seconds since the object was created, by the API server's clock."""
    created = datetime.fromisoformat(obj["metadata"]["creationTimestamp"])
    return (now - created).total_seconds()


def check_images(pods: Iterable[Json], now: datetime, fields: dict[str, str]) -> None:
    """Look for images that cannot be had.

    Args:
        pods: of the run.
        now: the time.
        fields: image reference to the field or chart value that names it.

    Raises:
        UserError: an image has not been pulled for longer than a hiccup lasts.
    """
    for pod in pods:
        status = pod.get("status", {})
        each = [
            *(status.get("initContainerStatuses") or []),
            *(status.get("containerStatuses") or []),
        ]
        for container in each:
            waiting = container.get("state", {}).get("waiting") or {}
            reason, image = waiting.get("reason", ""), container.get("image", "")
            late = age(pod, now) > IMAGE_PATIENCE
            if reason in HOPELESS or (reason in PULL_FAILURES and late):
                raise UserError(
                    "ImageUnpullable",
                    fields.get(image, "image"),
                    f"{image} cannot be pulled on node {pod['spec'].get('nodeName', '?')}: "
                    f"{waiting.get('message') or reason}; correct the reference, or give "
                    "spec.podTemplate.imagePullSecrets",
                )


def obstacles(pods: Iterable[Json]) -> list[str]:
    """Why pods are not up yet, a sentence each, for conditions."""
    found = []
    for pod in pods:
        name, status = pod["metadata"]["name"], pod.get("status", {})
        refused = condition(pod, "PodScheduled", "False")
        if refused is not None:
            found.append(f"{name} is not scheduled: {refused.get('message', '')}")
        for container in status.get("containerStatuses") or []:
            waiting = container.get("state", {}).get("waiting") or {}
            if waiting.get("reason") not in {None, "ContainerCreating", "PodInitializing"}:
                found.append(f"{name}: {waiting['reason']} {waiting.get('message', '')}".strip())
    return found
