"""ElectPreferredLeaders: the first replica of each partition becomes its leader again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import FaultState, InconclusiveReasonKind
from krt_operator.engine import journal
from krt_operator.engine.progress import SideEffect
from krt_operator.errors import TransientError
from krt_operator.faults.action import FAULT_NOT_VERIFIED, OUTCOME_TIMEOUT, FaultAction
from krt_operator.faults.partitions import target_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import FaultContext


class ElectPreferredLeaders(FaultAction):
    """Asks Kafka for a preferred leader election of the target partitions."""

    def act(self, ctx: FaultContext) -> SideEffect:
        """Ask for the election; repeated, it changes nothing.

        While Kafka does not answer, the next passes ask again for `OUTCOME_TIMEOUT`. A single pass
        does not wait for it, because it may have other faults to revert.
        """
        entry, plan = ctx.entry, ctx.plan
        bootstrap = plan.bootstrap_but(ctx.unavailable)

        def perform(ports: Ports) -> Sequence[Change]:
            at = ports.clock.now()
            try:
                with ports.connect(plan, bootstrap) as kafka:
                    errors = kafka.elect_preferred(target_partitions(ctx.fault, plan))
            except TransientError as error:
                if at - (entry.scheduled_at or at) <= OUTCOME_TIMEOUT:
                    return []
                errors = {"Kafka": str(error)}
            changes = [journal.fault(entry.name, state=FaultState.INJECTED, injected_at=at)]
            if errors:
                reasons = "; ".join(f"{name}: {error}" for name, error in sorted(errors.items()))
                changes.append(
                    journal.add_inconclusive_reason(
                        FAULT_NOT_VERIFIED,
                        InconclusiveReasonKind.COVERAGE,
                        f"fault {entry.name}: not elected: {reasons}",
                        at,
                        fault=entry.name,
                    )
                )
            return changes

        return SideEffect(f"elect the preferred leaders for {entry.name}", perform)
