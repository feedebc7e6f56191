"""When a fault was injected: before anything of its effect, whatever the API server takes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.operator.faults.doubles.cluster import ControllerKilled, SimulatedCluster
from tests.unit.operator.faults.doubles.player import LEADER, entry, play, play_pass

from krt_operator.engine.progress import Eviction

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.engine.progress import Deletion

ANSWER_SECONDS = 0.7


class SlowApi(SimulatedCluster):
    """An API server that answers a while after the pod has begun to end."""

    def __init__(self, faults: list[dict[str, Any]]) -> None:
        super().__init__(faults)
        self.requested: list[datetime] = []

    def delete(self, deletion: Deletion) -> bool:
        self.requested.append(self.time)
        found = super().delete(deletion)
        self.time += timedelta(seconds=ANSWER_SECONDS)
        return found

    def evict(self, deletion: Deletion) -> Eviction:
        self.requested.append(self.time)
        found = super().evict(deletion)
        self.time += timedelta(seconds=ANSWER_SECONDS)
        return found


class InterruptedApi(SlowApi):
    """One whose first request is carried out, and whose pass fails before that is journalled."""

    GRACE = timedelta(seconds=30)

    def delete(self, deletion: Deletion) -> bool:
        return self._terminate(deletion) if len(self.requested) < 2 else super().delete(deletion)

    def evict(self, deletion: Deletion) -> Eviction:
        if len(self.requested) < 2:
            return Eviction(evicted=self._terminate(deletion))
        return super().evict(deletion)

    def _terminate(self, deletion: Deletion) -> bool:
        """Let the pod end, which takes it longer than the next pass; fail the first time."""
        self.requested.append(self.time)
        metadata = self.pods[deletion.name]["metadata"]
        ends = self.time.replace(microsecond=0) + self.GRACE
        metadata.setdefault("deletionTimestamp", ends.isoformat())
        metadata["deletionGracePeriodSeconds"] = int(self.GRACE.total_seconds())
        if len(self.requested) == 1:
            raise ControllerKilled
        return True


def fault_of(action: str, delay: str) -> dict[str, Any]:
    """The fault `leader-down` with an action that ends pods through the API server."""
    if action == "RollingRestart":
        return {"name": "leader-down", "action": action, "target": {"role": "Broker"}}
    return LEADER | {"action": action, "delay": delay}


@pytest.mark.parametrize("action", ["DeletePod", "EvictPod", "RollingRestart"])
def test_injected_at_is_when_the_request_was_sent_that_no_pass_journalled(action: str) -> None:
    sim = InterruptedApi([fault_of(action, delay="600ms")])
    while len(sim.requested) < 2:
        try:
            sim.advance(play_pass(sim))
        except ControllerKilled:
            sim.advance(3)
    first, second = sim.requested
    at = entry(sim, "leader-down").injected_at
    assert at is not None
    assert at <= first < second
    assert first - at < timedelta(seconds=1)


@pytest.mark.parametrize("action", ["DeletePod", "EvictPod", "RollingRestart"])
def test_injected_at_is_when_the_first_request_was_sent(action: str) -> None:
    sim = SlowApi([fault_of(action, delay="0s")])
    play(sim)
    assert entry(sim, "leader-down").injected_at == sim.requested[0]
