"""What a run waits for before it is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.operator.doubles.objects import node

from krt_contract.nodes import PRESSURES
from krt_operator.plan.queue import QUEUED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World


def test_provisioning_with_silent_kafka_waits(world: World) -> None:
    world.run(until="Provisioning")
    world.silent_kafka = True
    world.run(seconds=60)
    assert "waiting for Kafka" in world.condition("Provisioned")["message"]
    world.silent_kafka = False
    assert world.run()["verdict"] == "Passed"


def test_provisioning_waits_until_every_broker_knows_every_partition(world: World) -> None:
    world.run(until="Provisioning")
    world.unheard = {(1, "foo", 1)}
    assert world.run(seconds=60)["phase"] == "Provisioning"
    message = world.condition("Provisioned")["message"]
    assert "waiting for broker 1 to know a leader of foo-1" in message
    assert world.up("producer")
    assert (world.control(), world.written) == ("Wait", 0)
    world.unheard = set()
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


def _under(pressure: str, name: str, zone: str) -> dict[str, Any]:
    """A node under a pressure, with the taint that Kubernetes gives it."""
    strained = node(name, zone)
    strained["spec"]["taints"] = [{"key": PRESSURES[pressure], "effect": "NoSchedule"}]
    strained["status"]["conditions"].append({"type": pressure, "status": "True"})
    return strained


@pytest.mark.parametrize("pressure", list(PRESSURES))
def test_pending_with_nodes_under_pressure_starts_when_they_are_relieved(
    world: World, pressure: str
) -> None:
    relieved = world.nodes[0]
    name, zone = relieved["metadata"]["name"], "zone-a"
    world.nodes[0] = _under(pressure, name, zone)
    world.run(seconds=60)
    assert world.status["phase"] == "Pending"
    condition = world.condition("Provisioned")
    assert (condition["status"], condition["reason"]) == ("Unknown", "NodesUnderPressure")
    assert f"{name} ({pressure})" in condition["message"]
    world.nodes[0] = relieved
    assert world.run()["verdict"] == "Passed"


def test_pending_starts_beside_a_node_under_pressure_that_is_not_needed(world: World) -> None:
    world.nodes.append(_under("DiskPressure", "spare", "zone-a"))
    assert world.run()["verdict"] == "Passed"


def test_pending_that_would_not_fit_on_relieved_nodes_either_is_refused(world: World) -> None:
    world.nodes = [_under("DiskPressure", "n0", "zone-a"), *world.nodes[1:3]]
    assert world.run()["phase"] == "Error"
    assert world.condition("Provisioned")["reason"] in {"TooFewNodes", "TooFewZones"}


def _measuring(world: World, reason: str, phase: str = "Warmup") -> None:
    """Put another test at work, with a reason of its condition TrafficEstablished."""
    condition = {"type": "TrafficEstablished", "status": "False", "reason": reason}
    meta = {"namespace": "other", "name": "slow", "uid": "slow"}
    status = {"phase": phase, "conditions": [condition]}
    world.put({"kind": "KafkaResilienceTest", "metadata": meta, "status": status})


def test_pending_beside_a_test_that_measures_slow_writes_waits_for_it(world: World) -> None:
    _measuring(world, "ProduceLatencyHigh")
    world.run(seconds=60)
    assert world.status["phase"] == "Pending"
    condition = world.condition("Provisioned")
    assert (condition["status"], condition["reason"]) == ("Unknown", "OtherTestSlow")
    assert "test slow in namespace other" in condition["message"]
    world.remove("KafkaResilienceTest", "slow")
    _measuring(world, "TrafficFlowing", "Injecting")
    assert world.run()["verdict"] == "Passed"


def test_pending_beside_a_test_that_starts_is_queued(world: World) -> None:
    _measuring(world, "Starting")
    world.run(seconds=60)
    condition = world.condition("Provisioned")
    assert (world.status["phase"], condition["reason"]) == ("Pending", QUEUED)
    assert "tests that are starting: 1; 1 may start" in condition["message"]
    world.remove("KafkaResilienceTest", "slow")
    assert world.run()["verdict"] == "Passed"


@pytest.mark.parametrize("phase", ["Injecting", "CleaningUp", "Aborted"])
def test_pending_does_not_wait_for_a_test_that_no_longer_warms_up(world: World, phase: str) -> None:
    _measuring(world, "ProduceLatencyHigh", phase)
    world.run(until="Provisioning", seconds=20)
    assert world.status["phase"] == "Provisioning"


def test_pending_held_back_is_aborted_at_once(make_world: Callable[..., World]) -> None:
    world = make_world()
    _measuring(world, "ProduceLatencyHigh")
    world.run(seconds=20)
    world.test["spec"]["abort"] = True
    assert world.run()["phase"] == "Aborted"
