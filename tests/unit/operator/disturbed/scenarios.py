"""The runs that are disturbed: each from creation to its end, together every action of a fault."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.unit.operator.doubles.kubelets import SESSION, TEST
from tests.unit.operator.doubles.objects import node
from tests.unit.operator.doubles.world import World

from krt_contract.labels import KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LEADER = {"role": "PartitionLeader", "topic": "foo", "partition": 0}
SESSION_MILLIS = str(int(SESSION.total_seconds() * 1000))
SHORT = {
    "kafka": {"config": {"zookeeper.session.timeout.ms": SESSION_MILLIS}},
    "warmup": "3s",
}


@dataclass(frozen=True)
class Scenario:
    """A run.

    Attributes:
        name: for tables.
        spec: changes of the smallest spec.
        user: what a user does meanwhile; called before every pass.
        longest: after this time, a run that has not ended never will.
        reference: broker id to rack of a cluster that somebody else runs; empty: the test deploys
            its own.
    """

    name: str
    spec: dict[str, Any] = field(default_factory=dict)
    user: Callable[[World], object] = lambda _: None
    longest: timedelta = timedelta(minutes=30)
    reference: Mapping[int, str] = field(default_factory=dict)

    def world(self) -> World:
        """A world in which the run has not begun."""
        world = World(**({"warmup": "3s"} if self.reference else SHORT) | self.spec)
        world.reference = dict(self.reference)
        world.terminating = SESSION / 3
        world.nodes.append(node("n6", "zone-a"))
        return world


def fault(name: str, action: str, target: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"name": name, "action": action, "target": target, "delay": "1s"} | changes


def broker(*ordinals: int) -> dict[str, Any]:
    return {"role": "Broker", "ordinals": list(ordinals)}


LASTING = [
    fault("frozen", "FreezePod", broker(0), duration="10m"),
    fault("down", "DeletePod", broker(1), duration="10m", startsAfter={"event": "Started"}),
]


def _when_active(act: Callable[[World], object]) -> Callable[[World], None]:
    """Do something once both faults of `LASTING` are active and verified."""

    def user(world: World) -> None:
        faults = world.status.get("faults", []) if (KIND, TEST) in world.objects else []
        if [(entry["state"], entry.get("verified")) for entry in faults] == 2 * [("Active", True)]:
            act(world)

    return user


def _abort(world: World) -> None:
    if not world.test["spec"].get("abort"):
        world.test["spec"]["abort"] = True
        world.test["metadata"]["resourceVersion"] = str(next(world.versions))


def _delete(world: World) -> None:
    world.test["metadata"].setdefault("deletionTimestamp", "2026-11-21T04:00:00Z")


def _restart_broker(world: World) -> None:
    """Keep a broker of somebody else's cluster down while the External fault is active."""
    down = bool((KIND, TEST) in world.objects and world.status.get("activeFaults"))
    world.reference_down = frozenset({12} if down else ())


SCENARIOS = (
    Scenario("no fault"),
    Scenario(
        "crash",
        {
            "faults": [
                fault("leader", "CrashPod", LEADER, duration="3s"),
                fault("zk", "CrashPod", {"role": "ZooKeeperLeader"}),
            ]
        },
    ),
    Scenario(
        "delete",
        {
            "faults": [
                fault("broker", "DeletePod", broker(1), duration="3s"),
                fault("consumer", "DeletePod", {"role": "Consumer"}),
            ]
        },
    ),
    Scenario(
        "freeze",
        {
            "faults": [
                fault("zk", "FreezePod", {"role": "ZooKeeper", "ordinals": [1]}, duration="3s"),
                fault("broker", "FreezePod", broker(2), duration="8s"),
            ]
        },
    ),
    Scenario(
        "evict",
        {
            "faults": [
                fault("granted", "EvictPod", broker(0), duration="5s"),
                fault("refused", "EvictPod", broker(1), startsAfter={"event": "Started"}),
            ]
        },
    ),
    Scenario("lose disk", {"faults": [fault("disk", "LoseDisk", LEADER, duration="3s")]}),
    Scenario(
        "rolling restart", {"faults": [fault("all", "RollingRestart", {"role": "ZooKeeper"})]}
    ),
    Scenario(
        "partitions",
        {
            "kafka": {"replicas": 4, **SHORT["kafka"]},  # type: ignore[dict-item]
            "faults": [
                fault(
                    "moved",
                    "Reassign",
                    {"role": "Partition", "topic": "foo", "partitions": [0]},
                    targetReplicas=[3, 1, 2],
                ),
                fault("elected", "ElectPreferredLeaders", {"role": "Partition", "topic": "foo"}),
            ],
        },
    ),
    Scenario(
        "transactions",
        {
            "topics": [
                {"name": "foo", "partitions": 2, "replicationFactor": 3},
                {"name": "bar", "partitions": 2, "replicationFactor": 3},
            ],
            "traffic": {
                "producers": [{"name": "a", "topic": "foo", "recordsPerSecond": 100}],
                "consumers": [
                    {
                        "name": "copy",
                        "topics": ["foo"],
                        "group": "copy",
                        "commit": "Transactional",
                        "output": {"topic": "bar"},
                    },
                    {"name": "c", "topics": ["bar"], "group": "g"},
                ],
            },
            "faults": [fault("copy", "CrashPod", {"role": "Consumer", "name": "copy"})],
        },
    ),
    Scenario(
        "cluster that is there",
        {
            "kafkaRef": {"bootstrapServers": ["kafka.other:9092"]},
            "topics": [{"name": "krt-foo", "partitions": 2, "replicationFactor": 3}],
            "traffic": {
                "producers": [{"name": "a", "topic": "krt-foo", "recordsPerSecond": 100}],
                "consumers": [{"name": "c", "topics": ["krt-foo"], "group": "krt-g"}],
            },
            "faults": [
                fault("consumer", "CrashPod", {"role": "Consumer"}),
                fault(
                    "owner", "External", {"role": "Partition", "topic": "krt-foo"}, duration="3s"
                ),
            ],
        },
        _restart_broker,
        reference={11: "a", 12: "b", 13: "c"},
    ),
    Scenario("compare replicas", {"evidence": {"compareReplicas": True}}),
    Scenario(
        "retain",
        {"cleanup": "Retain", "faults": [fault("zk", "CrashPod", {"role": "ZooKeeper"})]},
    ),
    Scenario("abort", {"faults": LASTING}, _when_active(_abort)),
    Scenario("abort, retain", {"faults": LASTING, "cleanup": "Retain"}, _when_active(_abort)),
    Scenario("delete the test", {"faults": LASTING}, _when_active(_delete)),
)
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
