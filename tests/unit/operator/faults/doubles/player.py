"""Plays a run of the phase Injecting on the simulated cluster, and reads its journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.unit.operator.faults.doubles.cluster import ControllerKilled

from krt_operator.api.status import FaultState, Phase
from krt_operator.phases.steps import step

if TYPE_CHECKING:
    from datetime import datetime

    from tests.unit.operator.faults.doubles.cluster import SimulatedCluster

    from krt_operator.api.conditions import Condition
    from krt_operator.api.status import FaultStatus, ObservationKind

LEADER: dict[str, Any] = {
    "name": "leader-down",
    "delay": "10s",
    "action": "CrashPod",
    "target": {"role": "PartitionLeader", "topic": "foo", "partition": 0},
    "duration": "20s",
}

FOUR_BROKERS: dict[str, Any] = {
    "kafka": {"replicas": 4, "config": {"zookeeper.session.timeout.ms": "6000"}}
}

MAX_PASSES = 2000
"""Passes after which a run that has not ended never will."""


@dataclass(frozen=True)
class FaultTimes:
    """A fault's times; asking for one that the journal does not hold fails the test."""

    entry: FaultStatus

    @property
    def due(self) -> datetime:
        return _known(self.entry.due_at)

    @property
    def scheduled(self) -> datetime:
        return _known(self.entry.scheduled_at)

    @property
    def injected(self) -> datetime:
        return _known(self.entry.injected_at)

    @property
    def reverted(self) -> datetime:
        return _known(self.entry.reverted_at)

    @property
    def recovered(self) -> datetime:
        return _known(self.entry.recovered_at)


def _known(at: datetime | None) -> datetime:
    assert at is not None
    return at


def play(sim: SimulatedCluster, kills: dict[int, int] | None = None) -> None:
    """Run passes until the phase is over.

    Args:
        sim: the cluster.
        kills: pass number to the step before which the controller is killed in it.
    """
    for number in range(MAX_PASSES):
        if sim.status.phase is not Phase.INJECTING:
            return
        run, observed = sim.run()
        progress = step(run, observed, sim.ports())
        try:
            sim.carry_out(progress, (kills or {}).get(number, -1))
        except ControllerKilled:
            sim.advance(3)
            continue
        sim.advance(max(progress.requeue_after, 0.05))
    raise AssertionError(f"still injecting after {MAX_PASSES} passes: {sim.status.faults}")


def play_pass(sim: SimulatedCluster) -> float:
    """Run one pass; return after how many seconds the next one is due."""
    run, observed = sim.run()
    progress = step(run, observed, sim.ports())
    sim.carry_out(progress)
    return progress.requeue_after


def play_until_active(sim: SimulatedCluster) -> None:
    """Run passes until the fault `leader-down` is active."""
    while not sim.status.faults or entry(sim, "leader-down").state is not FaultState.ACTIVE:
        play_pass(sim)
        sim.advance(0.2)


def eventful_steps(sim: SimulatedCluster) -> list[tuple[int, int]]:
    """Play undisturbed; return every (pass, step) in which something was written or done."""
    steps = []
    for number in range(MAX_PASSES):
        if sim.status.phase is not Phase.INJECTING:
            break
        run, observed = sim.run()
        progress = step(run, observed, sim.ports())
        before, done = sim.status, len(progress.apply) + len(progress.side_effects)
        sim.carry_out(progress)
        if done or sim.status != before:
            # The steps: intents, each apply and act, changes, the next phase.
            steps += [(number, at) for at in range(3 + done)]
        sim.advance(max(progress.requeue_after, 0.05))
    return steps


def entry(sim: SimulatedCluster, name: str) -> FaultStatus:
    """A fault's entry in the journal."""
    return next(fault for fault in sim.status.faults if fault.name == name)


def times(sim: SimulatedCluster, name: str) -> FaultTimes:
    """A fault's times in the journal."""
    return FaultTimes(entry(sim, name))


def kinds(sim: SimulatedCluster, name: str) -> set[ObservationKind]:
    """The kinds of observation that the journal holds of a fault."""
    return {observation.kind for observation in entry(sim, name).observations}


def condition(sim: SimulatedCluster, type_: str) -> Condition:
    """A condition of the test."""
    return next(condition for condition in sim.status.conditions if condition.type == type_)


def codes(sim: SimulatedCluster) -> list[str]:
    """The codes of the inconclusive reasons, in order."""
    return [reason.code for reason in sim.status.inconclusive_reasons]
