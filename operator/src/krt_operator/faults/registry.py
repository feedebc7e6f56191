"""Every action and the module that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action
from krt_operator.faults.actions import (
    crash_pod,
    delete_pod,
    elect_leaders,
    evict_pod,
    freeze_pod,
    lose_disk,
    reassign,
    rolling_restart,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_operator.faults.action import Deed

DEEDS: Final[Mapping[Action, Deed]] = {
    Action.DELETE_POD: delete_pod,
    Action.CRASH_POD: crash_pod,
    Action.FREEZE_POD: freeze_pod,
    Action.EVICT_POD: evict_pod,
    Action.LOSE_DISK: lose_disk,
    Action.ROLLING_RESTART: rolling_restart,
    Action.REASSIGN: reassign,
    Action.ELECT_PREFERRED_LEADERS: elect_leaders,
}
"""Action to its module; one without a module is a defect that a unit test finds."""
