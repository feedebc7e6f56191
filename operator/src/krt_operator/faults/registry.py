"""Every fault action by its name in the resource."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action
from krt_operator.faults.actions.crash_pod import CrashPod
from krt_operator.faults.actions.delete_pod import DeletePod
from krt_operator.faults.actions.elect_leaders import ElectPreferredLeaders
from krt_operator.faults.actions.evict_pod import EvictPod
from krt_operator.faults.actions.external import External
from krt_operator.faults.actions.freeze_pod import FreezePod
from krt_operator.faults.actions.lose_disk import LoseDisk
from krt_operator.faults.actions.reassign import Reassign
from krt_operator.faults.actions.rolling_restart import RollingRestart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_operator.faults.action import FaultAction

ACTIONS: Final[Mapping[Action, FaultAction]] = MappingProxyType(
    {
        Action.DELETE_POD: DeletePod(),
        Action.CRASH_POD: CrashPod(),
        Action.FREEZE_POD: FreezePod(),
        Action.EVICT_POD: EvictPod(),
        Action.LOSE_DISK: LoseDisk(),
        Action.ROLLING_RESTART: RollingRestart(),
        Action.REASSIGN: Reassign(),
        Action.ELECT_PREFERRED_LEADERS: ElectPreferredLeaders(),
        Action.EXTERNAL: External(),
    }
)
"""A unit test fails for an action that is missing here or in the table of observations."""
