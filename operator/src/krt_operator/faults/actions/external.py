"""External: somebody else injects the fault while this one is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import FaultState
from krt_operator.engine import journal
from krt_operator.engine.progress import SideEffect
from krt_operator.faults.action import FaultAction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import FaultContext


class External(FaultAction):
    """Marks the time in which somebody else's fault is expected, and touches nothing."""

    reverts_itself = True

    def act(self, ctx: FaultContext) -> SideEffect:
        """Open the time: journal that the fault may be injected from now on."""
        entry, at = ctx.entry, ctx.now

        def perform(ports: Ports) -> Sequence[Change]:
            del ports
            return [journal.fault(entry.name, state=FaultState.INJECTED, injected_at=at)]

        return SideEffect(f"open the time of {entry.name}", perform)
