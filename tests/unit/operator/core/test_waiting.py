"""What a run waits for before it is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krt_operator.app.metrics import QUEUED

if TYPE_CHECKING:
    from tests.unit.operator.doubles.world import World


def test_provisioning_with_silent_kafka_waits(world: World) -> None:
    world.run(until="Provisioning")
    world.silent_kafka = True
    world.run(seconds=60)
    assert "waiting for Kafka" in world.condition("Provisioned")["message"]
    world.silent_kafka = False
    assert world.run()["verdict"] == "Passed"


def queue(world: World, ahead: int) -> None:
    """Put so many tests before the one of the world, two of them at work."""
    for number in range(ahead):
        status = {"status": {"phase": "Warmup"}} if number < 2 else {}
        meta = {"namespace": "ns", "name": f"o{number}", "uid": f"o{number}"}
        world.put({"kind": "KafkaResilienceTest", "metadata": meta, **status})


@pytest.mark.parametrize(("ahead", "calls"), [(2, 3 * 12), (99, 3 * 4)])
def test_pending_in_the_queue_asks_little_of_the_api_server(
    world: World, ahead: int, calls: int
) -> None:
    queue(world, ahead)
    world.run(seconds=1)
    before = world.api.served
    world.run(seconds=60)
    assert world.condition("Provisioned")["message"].startswith(
        f"tests ahead in the queue: {ahead}; 2 may run"
    )
    assert world.api.served - before <= calls


def test_pending_far_back_in_the_queue_starts_when_it_is_next(world: World) -> None:
    queue(world, 20)
    world.run(seconds=30)
    assert world.condition("Provisioned")["reason"] == "Queued"
    for number in range(20):
        world.remove("KafkaResilienceTest", f"o{number}")
    world.run(until="Provisioning", seconds=16)
    assert world.status["phase"] == "Provisioning"


def test_pending_beyond_the_limit_is_queued(world: World) -> None:
    for i, phase in enumerate(("Warmup", "Injecting")):
        other = {
            "kind": "KafkaResilienceTest",
            "metadata": {"namespace": "ns", "name": f"o{i}", "uid": f"o{i}"},
            "status": {"phase": phase},
        }
        world.put(other)
    world.run(seconds=20)
    assert world.status["phase"] == "Pending"
    assert world.condition("Provisioned")["reason"] == QUEUED
    world.objects["KafkaResilienceTest", "o0"]["status"]["phase"] = "Completed"
    world.run(seconds=20)
    assert world.status["phase"] != "Pending"
