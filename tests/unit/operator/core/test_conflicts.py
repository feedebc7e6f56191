"""A conflict is read again at once; one that lasts is a failure like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krt_operator.constants import RETRY_PATIENCE
from krt_operator.errors import ConflictError

if TYPE_CHECKING:
    from tests.unit.operator.doubles.world import World

CONFLICT = ConflictError("HTTP 409: the object has been modified")


def conflicting(world: World, kind: str) -> None:
    """Let every write of a kind meet a conflict."""
    world.answers = lambda verb, of, _: (
        CONFLICT if of == kind and verb in {"apply", "create", "update"} else None
    )


def test_conflict_of_one_pass_is_read_again_at_once(world: World) -> None:
    engine = world.controller()
    world.run(until="Provisioning", controller=engine)
    conflicting(world, "ConfigMap")
    assert engine.run_once("t") == 0.0
    world.answers = lambda *_: None
    world.tick(0.01)
    assert engine.run_once("t") == 1.0


@pytest.mark.parametrize("kind", ["ConfigMap", "KafkaResilienceTest"])
def test_conflict_in_succession_fails_the_pass(world: World, kind: str) -> None:
    engine = world.controller()
    world.run(until="Provisioning", controller=engine)
    conflicting(world, kind)
    assert engine.run_once("t") == 0.0
    for _ in range(3):
        world.tick(1)
        with pytest.raises(ConflictError):
            engine.run_once("t")


def test_lasting_conflict_is_reported_and_ends_the_run(world: World) -> None:
    world.run(until="Provisioning")
    begun = world.time
    conflicting(world, "ConfigMap")
    world.run_on(seconds=RETRY_PATIENCE + 10, pause=1)
    reported = world.condition("Reconciling")
    assert (reported["status"], reported["reason"]) == ("False", "RequestFailed")
    assert "HTTP 409" in reported["message"]
    world.run_on(until="CleaningUp", pause=1)
    assert world.status["ending"] == "SetupFailed"
    # One pass a second, and the one that follows the first conflict at once.
    seconds = (world.time - begun).total_seconds()
    assert len(world.errors) <= seconds + 1
