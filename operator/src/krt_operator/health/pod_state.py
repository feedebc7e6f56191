"""Why pods do not run: images that cannot be pulled, containers that wait. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from krt_operator.constants import IMAGE_PATIENCE
from krt_operator.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from krt_operator.engine.views import ContainerView, PodView

PULL_FAILURES: Final = frozenset({"ErrImagePull", "ImagePullBackOff"})
"""Reasons of a container that waits for an image, and whose next pull may succeed."""

HOPELESS: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})
"""Reasons of a container that waits for an image that no pull can bring."""

BACK_OFF: Final = "CrashLoopBackOff"
"""Reason of a container that has ended and is started again after a delay."""

_ENTRY: Final = re.compile(r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*Z?\]? ")
"""The time at the beginning of an entry of a log."""

STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons of a container that waits in the normal course of a start."""


def message_json(text: str) -> dict[str, Any]:
    """A termination message as JSON; empty where it is not a JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def last_line(text: str) -> str:
    """The last line of a termination message that Kubernetes took from the log; else empty.

    Events of members, which are JSON, are passed over, and so is the time of an entry of the log.
    """
    lines = [line.strip() for line in text.splitlines()]
    found = [line for line in lines if line and not message_json(line)]
    return _ENTRY.sub("", found[-1]) if found else ""


def end_of(container: ContainerView) -> str:
    """How a container ended last, with its own words; empty where it never did."""
    ended = container.last_terminated
    if ended is None:
        return ""
    text = str(ended.get("message") or "")
    report = message_json(text)
    words = str(report.get("error") or "") if report else last_line(text)
    how = f"ended with exit code {ended.get('exitCode')}"
    return f"{how}: {words or ended.get('reason') or 'no message'}"


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
            if waiting is None or waiting.reason in STARTING:
                continue
            # The message of a back-off says how long it lasts; what matters is why there is one.
            why = end_of(container) if waiting.reason == BACK_OFF else ""
            found.append(f"{pod.name}: {waiting.reason} {why or waiting.message}".strip())
    return found
