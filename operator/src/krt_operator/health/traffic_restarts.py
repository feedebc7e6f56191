"""Traffic pods that have ended: why, whether starting again may help, and when it is due. Pure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from krt_contract.exits import TrafficExit
from krt_contract.labels import ANNOTATION_RESTARTS
from krt_operator.errors import UserError
from krt_operator.health.pod_state import end_of, message_json

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.build.traffic import TrafficPod
    from krt_operator.engine.views import PodView

FIRST_DELAY: Final = timedelta(seconds=5)
"""Before the second restart in succession; each further delay is twice as long. The first restart
is immediate, because a fault of the test may have ended the pod. Kubelet begins with 10 s, which is
long in a test of a few minutes."""

LONGEST_DELAY: Final = timedelta(seconds=60)
"""Longest delay: a client whose cause of failure is gone is back within a minute."""

GOOD_RUN: Final = timedelta(seconds=60)
"""A pod that ran this long was at work; its end is not the same failure again."""


def failed_for_good(pod: PodView) -> bool:
    """Whether the pod has ended and says that starting it again would not help."""
    return pod.ended and not pod.deleting and pod.exit_code == TrafficExit.UNUSABLE


def check_client(client: TrafficPod, pod: PodView) -> None:
    """Look for a client that cannot start.

    Raises:
        UserError: ClientCannotStart.
    """
    if not failed_for_good(pod):
        return
    report = message_json(pod.message)
    field = str(report.get("field") or f"spec.traffic.{client.role.value}s[{client.entry}]")
    raise UserError("ClientCannotStart", field, f"{client.pod} {end_of(pod.containers[0])}")


def restarts_in_succession(pod: PodView) -> int:
    """How many restarts in succession the next one of an ended pod is, not counting itself."""
    started, finished = pod.started, pod.finished
    if started is not None and finished is not None and finished - started >= GOOD_RUN:
        return 0
    restarts = pod.annotations.get(ANNOTATION_RESTARTS, "")
    return int(restarts) if restarts.isdecimal() else 0


def restart_due(pod: PodView) -> datetime | None:
    """When an ended pod is to be started again; None: at once."""
    restarts, finished = restarts_in_succession(pod), pod.finished
    if finished is None or not restarts:
        return None
    # Ten doublings are far beyond the longest delay; more could only overflow.
    return finished + min(FIRST_DELAY * (1 << min(restarts - 1, 10)), LONGEST_DELAY)
