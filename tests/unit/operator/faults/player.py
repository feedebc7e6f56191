"""Playing a run of the phase on the simulated cluster, and looking at its journal."""

from __future__ import annotations

from typing import Any

from krt_operator.api.status import FaultState, ObservationKind, Phase
from krt_operator.phases.steps import step

LEADER = {
    "name": "leader-down",
    "delay": "10s",
    "action": "CrashPod",
    "target": {"role": "PartitionLeader", "topic": "foo", "partition": 0},
    "duration": "20s",
}

LIMIT = 2000
"""Passes after which a run that has not ended never will."""


def play(sim: Any, kills: dict[int, int] | None = None, killed: Any = None) -> list[str]:
    """Run passes until the phase is over; `kills` is pass number to step it dies before."""
    states: list[str] = []
    for number in range(LIMIT):
        if sim.status.phase is not Phase.INJECTING:
            return states
        run, world = sim.run()
        progress = step(run, world, sim.ports())
        try:
            sim.carry_out(progress, (kills or {}).get(number, -1))
        except Exception as death:
            if killed is None or not isinstance(death, killed):
                raise
            sim.advance(3)
            continue
        for fault in sim.status.faults:
            word = f"{fault.name}:{fault.state}"
            if word not in states:
                states.append(word)
        sim.advance(max(progress.requeue_after, 0.05))
    raise AssertionError(f"still injecting after {LIMIT} passes: {sim.status.faults}")


def until_held(sim: Any) -> None:
    while not sim.status.faults or entry(sim, "leader-down").state is not FaultState.ACTIVE:
        run, world = sim.run()
        sim.carry_out(step(run, world, sim.ports()))
        sim.advance(0.2)


def entry(sim: Any, name: str) -> Any:
    return next(one for one in sim.status.faults if one.name == name)


def kinds(sim: Any, name: str) -> set[ObservationKind]:
    return {one.kind for one in entry(sim, name).observations}


FOUR = {"kafka": {"replicas": 4, "config": {"zookeeper.session.timeout.ms": "6000"}}}


def eventful(sim: Any) -> list[tuple[int, int]]:
    """Play undisturbed; return every (pass, step) in which something was written or done."""
    found = []
    for number in range(LIMIT):
        if sim.status.phase is not Phase.INJECTING:
            break
        run, world = sim.run()
        progress = step(run, world, sim.ports())
        before, done = sim.status, len(progress.apply) + len(progress.side_effects)
        sim.carry_out(progress)
        if done or sim.status != before:
            # The steps: intents, each apply and act, changes, the next phase.
            found += [(number, at) for at in range(3 + done)]
        sim.advance(max(progress.requeue_after, 0.05))
    return found
