"""What Kafka's metadata shows of a fault, look after look."""

from __future__ import annotations

from tests.unit.operator.faults.doubles.cluster import SimulatedCluster
from tests.unit.operator.faults.doubles.nodes import START
from tests.unit.operator.faults.doubles.player import LEADER, entry, play

from krt_operator.api.status import ObservationKind
from krt_operator.faults.observations import observe_cluster
from krt_operator.faults.verification import verify
from krt_operator.kafka.views import Broker, ClusterView, Partition


def shrunk(topic: str, numbers: range) -> ClusterView:
    """A look at a cluster in which broker 0 is out of the ISR of these partitions."""
    partitions = (Partition(topic, number, 1, (0, 1, 2), (1, 2)) for number in numbers)
    return ClusterView((Broker(1, "b1"), Broker(2, "b2")), 1, tuple(partitions))


def test_observe_cluster_in_many_looks_names_eight_partitions() -> None:
    sim = SimulatedCluster([LEADER])
    play(sim)
    fault = sim.spec.faults[0]
    found = entry(sim, "leader-down").model_copy(update={"observations": ()})
    for look in range(40):
        view = shrunk("foo", range(5 * look, 5 * look + 5))
        seen = observe_cluster(fault, found, sim.plan, view, START)
        observations = verify(fault, found, sim.plan, seen).observations
        found = found.model_copy(update={"observations": observations})
    named = [
        observation.subject
        for observation in found.observations
        if observation.kind is ObservationKind.ISR_SHRANK
    ]
    assert named == [f"foo-{number}" for number in range(8)]
