"""What a run waits for before it is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.unit.operator.doubles.world import World


def test_provisioning_with_silent_kafka_waits(world: World) -> None:
    world.run(until="Provisioning")
    world.silent_kafka = True
    world.run(seconds=60)
    assert "waiting for Kafka" in world.condition("Provisioned")["message"]
    world.silent_kafka = False
    assert world.run()["verdict"] == "Passed"


def test_pending_beyond_the_limit_is_queued(world: World) -> None:
    for i, phase in enumerate(("Warmup", "Injecting")):
        other = {
            "kind": "KafkaResilienceTest",
            "metadata": {"name": f"o{i}", "uid": f"o{i}"},
            "status": {"phase": phase},
        }
        world.put(other)
    world.run(seconds=20)
    assert world.status["phase"] == "Pending"
    assert world.condition("Provisioned")["reason"] == "Queued"
    world.objects["KafkaResilienceTest", "o0"]["status"]["phase"] = "Completed"
    world.run(seconds=20)
    assert world.status["phase"] != "Pending"
