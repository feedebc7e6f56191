"""ElectPreferredLeaders: leadership goes back to the first replica of each partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_operator.api.status import FaultState, InconclusiveReasonKind
from krt_operator.engine import journal
from krt_operator.engine.progress import SideEffect
from krt_operator.errors import TransientError
from krt_operator.faults.action import PATIENCE, journaled, until_due
from krt_operator.faults.hold import absent
from krt_operator.faults.partitions import meant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_operator.engine.ports import Ports
    from krt_operator.engine.progress import Change
    from krt_operator.faults.action import Scene

hold = until_due
outcome = journaled


def act(scene: Scene) -> SideEffect:
    """Ask for the election; where it was held already, Kafka has nothing to do.

    A Kafka that does not answer is asked again for half a minute, by the next passes: the pass that
    asks may have other faults to revert.
    """
    entry, plan = scene.entry, scene.plan
    bootstrap = plan.bootstrap_but(absent(scene.status, scene.run.spec))

    def perform(ports: Ports) -> Sequence[Change]:
        at = ports.clock.now()
        try:
            with ports.kafka(bootstrap) as kafka:
                failed = kafka.elect_preferred(meant(scene.fault, plan))
        except TransientError as error:
            if at - (entry.scheduled_at or at) <= PATIENCE:
                return []
            failed = {"Kafka": str(error)}
        changes = [journal.fault(entry.name, state=FaultState.INJECTED, injected_at=at)]
        if failed:
            why = "; ".join(f"{name}: {said}" for name, said in sorted(failed.items()))
            told = f"fault {entry.name}: not elected: {why}"
            changes.append(
                journal.add_inconclusive_reason(
                    "FaultNotVerified", InconclusiveReasonKind.COVERAGE, told, at
                )
            )
        return changes

    return SideEffect(f"elect the preferred leaders for {entry.name}", perform)
