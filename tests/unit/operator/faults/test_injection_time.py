"""When a fault was injected: before anything of its effect, whatever the API server takes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.player import LEADER, entry, play

if TYPE_CHECKING:
    from datetime import datetime

    from krt_operator.engine.progress import Deletion, Eviction

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


@pytest.mark.parametrize("action", ["DeletePod", "EvictPod", "RollingRestart"])
def test_injected_at_is_when_the_first_request_was_sent(action: str) -> None:
    fault = LEADER | {"action": action, "delay": "0s"}
    if action == "RollingRestart":
        fault = {"name": "leader-down", "action": action, "target": {"role": "Broker"}}
    sim = SlowApi([fault])
    play(sim)
    assert entry(sim, "leader-down").injected_at == sim.requested[0]
