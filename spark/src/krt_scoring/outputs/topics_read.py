"""The note on the driver's own pod that the topics are read: the controller may delete the members.

It only saves time. Where it cannot be written, the members stay until the verdict is there.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import tenacity
from lightkube.core.client import Client
from lightkube.resources.core_v1 import Pod

from krt_contract.labels import ANNOTATION_TOPICS_READ
from krt_scoring.engine import api_retries

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

DEADLINE_S: Final = 10.0
"""Seconds for which writing it is tried; later it would save little."""


def note(namespace: str, pod: str, connect: Callable[[], Client] = Client) -> None:
    """Annotate the pod. What goes wrong is logged.

    Args:
        namespace: of the pod.
        pod: the driver's own.
        connect: makes the client.
    """
    patch = {"metadata": {"annotations": {ANNOTATION_TOPICS_READ: "true"}}}
    retrying = api_retries.retrying(log, tenacity.stop_after_delay(DEADLINE_S))
    try:
        retrying(lambda: connect().patch(Pod, pod, patch, namespace=namespace))
    except api_retries.FAILURES as error:
        log.warning(
            "pod %s could not be annotated (%s), so the members stay until the verdict is there. "
            "Grant the driver's service account patch on pods, as the chart's role krt-driver does",
            pod,
            error,
        )
