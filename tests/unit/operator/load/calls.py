"""How many calls of the API server a run makes, by the minute and by its phase."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.unit.operator.doubles.kubelets import START, TEST

from krt_contract.labels import KIND

if TYPE_CHECKING:
    from tests.unit.operator.disturbed.scenarios import Scenario


@dataclass
class Calls:
    """The calls of one run.

    Attributes:
        total: of the whole run.
        minutes: by minute of the run, from 0.
        phases: by the phase in which a pass began.
        passes: number of passes.
    """

    total: int = 0
    minutes: Counter[int] = field(default_factory=Counter)
    phases: Counter[str] = field(default_factory=Counter)
    passes: int = 0

    @property
    def most(self) -> int:
        """Of the busiest minute."""
        return max(self.minutes.values())


def count_calls(scenario: Scenario) -> Calls:
    """Play a run and count."""
    calls, world = Calls(), scenario.world()
    engine = world.controller()
    delay: float | None = 0.0
    while delay is not None and world.time < START + scenario.longest:
        scenario.user(world)
        phase = world.objects[KIND, TEST].get("status", {}).get("phase", "Pending")
        minute, before = int((world.time - START).total_seconds() // 60), world.api.served
        delay = engine.run_once(TEST)
        made = world.api.served - before
        calls.total += made
        calls.minutes[minute] += made
        calls.phases[phase] += made
        calls.passes += 1
        world.elapse(delay or 0.01)
    return calls
