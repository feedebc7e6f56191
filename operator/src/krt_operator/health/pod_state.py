"""Why pods do not run: images that cannot be pulled, containers that wait. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from krt_operator.constants import IMAGE_PATIENCE
from krt_operator.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from krt_operator.engine.views import PodView

PULL_FAILURES: Final = frozenset({"ErrImagePull", "ImagePullBackOff"})
"""Reasons of a container that waits for an image, and whose next pull may succeed."""

HOPELESS: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})
"""Reasons of a container that waits for an image that no pull can bring."""

STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons of a container that waits in the normal course of a start."""


def message_json(text: str) -> dict[str, Any]:
    """A termination message as JSON; empty where it is not a JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def check_images(pods: Iterable[PodView], now: datetime, fields: Mapping[str, str]) -> None:
    """Look for images that cannot be pulled.

    Args:
        pods: of the run.
        now: the time.
        fields: image reference to the field or chart value that names it.

    Raises:
        UserError: pulling an image has failed for longer than IMAGE_PATIENCE.
    """
    for pod in pods:
        for container in (*pod.init_containers, *pod.containers):
            waiting = container.waiting
            if waiting is None:
                continue
            failing = waiting.reason in PULL_FAILURES and pod.age(now) > IMAGE_PATIENCE
            if failing or waiting.reason in HOPELESS:
                raise UserError(
                    "ImageUnpullable",
                    fields.get(container.image, "image"),
                    f"{container.image} cannot be pulled on node {pod.node or '?'}: "
                    f"{waiting.message or waiting.reason}; correct the reference, or set "
                    "spec.podTemplate.imagePullSecrets",
                )


def obstacles(pods: Iterable[PodView]) -> list[str]:
    """Why pods have not started, one sentence for each cause, for conditions."""
    found = []
    for pod in pods:
        unscheduled = pod.condition("PodScheduled", "False")
        if unscheduled is not None:
            found.append(f"{pod.name} is not scheduled: {unscheduled.message}")
        for container in pod.containers:
            waiting = container.waiting
            if waiting is not None and waiting.reason not in STARTING:
                found.append(f"{pod.name}: {waiting.reason} {waiting.message}".strip())
    return found
