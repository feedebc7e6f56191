"""Waiting in Provisioning, until its deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import ConditionStatus, ConditionType, Phase
from krt_operator.constants import BUSY
from krt_operator.engine import journal
from krt_operator.engine.progress import Progress
from krt_operator.errors import UserError
from krt_operator.health import pod_state

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from krt_operator.engine.progress import Observed, Run
    from krt_operator.engine.views import Json


def provisioning_began(run: Run, observed: Observed) -> datetime:
    """When Provisioning was entered."""
    return journal.started(run.status, Phase.PROVISIONING) or observed.at


def wait_for_cluster(
    run: Run, observed: Observed, message: str, desired: Sequence[Json]
) -> Progress:
    """Apply what is desired and look again.

    Args:
        run: the run.
        observed: its pods, for what keeps them from starting.
        message: what is waited for.
        desired: objects to apply.

    Raises:
        UserError: ProvisioningTimedOut.
    """
    limit = run.spec.timeouts.provisioning
    if observed.at > provisioning_began(run, observed) + limit.delta:
        pods = observed.pod_views()
        others = (each for each in pod_state.obstacles(pods) if each not in message)
        unscheduled = any(pod.condition("PodScheduled", "False") for pod in pods)
        room = "free resources on the nodes, or " if unscheduled else ""
        raise UserError(
            "ProvisioningTimedOut",
            "spec.timeouts.provisioning",
            f"after {limit}: {'; '.join([message, *others])}; {room}allow more time",
        )
    condition = journal.set_condition(
        ConditionType.PROVISIONED, ConditionStatus.UNKNOWN, "Provisioning", message, at=observed.at
    )
    return Progress(requeue_after=BUSY, changes=(condition,), apply=tuple(desired))
