"""What befalls a world: brokers, clients and ZooKeeper, each reverted in its time.

Each is told as the controller's journal tells it: injected, with an effect, reverted, recovered.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.spark.model.engine import MS, SECOND
from tests.spark.model.scenario import TRAFFIC_END

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.spark.model.scenario import Fault
    from tests.spark.model.world import World

KILLED = 137

ACTIONS = {
    "crash": "CrashPod",
    "kill": "CrashPod",
    "shut-down": "DeletePod",
    "close": "DeletePod",
    "freeze": "FreezePod",
    "wipe": "LoseDisk",
}
"""What is done to a member → the action of the resource that does it."""

ZOOKEEPER = "zookeeper-0"
"""The model's ZooKeeper is one member."""


def hit(world: World, name: str, fault: Fault) -> None:
    """Inject a fault; one on a broker that another fault has is left out."""
    what, _, role = fault.kind.rpartition("-")
    if role == "broker":
        _broker(world, name, what, fault)
    elif role == "producer":
        _producer(world, name, fault)
    elif role == "consumer":
        _consumer(world, name, what, fault)
    elif role == "prefer":
        _journal(world, name, "ElectPreferredLeaders", {})()
        world.cluster.prefer()
    else:
        reverted = _journal(world, name, "CrashPod", {"member": ZOOKEEPER, "uid": ZOOKEEPER})
        world.cluster.zookeeper_up = False

        def back() -> None:
            world.cluster.zookeeper_up = True
            reverted()

        world.engine.after(fault.lasts, back)


def _journal(world: World, name: str, action: str, target: dict[str, str]) -> Callable[[], None]:
    """Write that a fault was injected and verified; return what to call when it is reverted."""
    targets = [target] if target else []
    world.tell("fault", "injected", name, action=action, targets=targets)
    world.tell("fault", "observed", name, verified=True, observations=[])

    def recovered() -> bool:
        if not world.cluster.whole:
            return True
        world.tell("fault", "recovered", name)
        return False

    def reverted() -> None:
        world.tell("fault", "reverted", name)
        world.engine.every(500 * MS, recovered)

    return reverted


def _broker(world: World, name: str, what: str, fault: Fault) -> None:
    broker, lasts, cluster = fault.target, fault.lasts, world.cluster
    if broker in world.down:
        return
    world.down.add(broker)
    member = f"kafka-{broker}"
    reverted = _journal(world, name, ACTIONS[what], {"member": member, "uid": member})
    if what == "freeze":
        cluster.freeze(broker)
        _stand(world, member, "frozen", member=member)
        world.engine.after(lasts, lambda: _thaw(world, broker, reverted))
        return
    if what == "shut-down":
        cluster.shut_down(broker)
    else:
        cluster.crash(broker)
    if what == "wipe":
        cluster.wipe(broker)
    world.engine.after(lasts + SECOND, lambda: _up(world, broker, reverted))


def _up(world: World, broker: int, reverted: Callable[[], None]) -> None:
    world.cluster.restart(broker)
    reverted()
    world.engine.after(2 * SECOND, lambda: world.down.discard(broker))


def _thaw(world: World, broker: int, reverted: Callable[[], None]) -> None:
    world.cluster.thaw(broker)
    _stand(world, f"kafka-{broker}", "thawed", member=f"kafka-{broker}")
    reverted()
    world.down.discard(broker)


def _stand(world: World, uid: str, event: str, **detail: str) -> None:
    """A process stopped or went on."""
    world.tell("member", event, uid, uid=uid, **detail)


def _producer(world: World, name: str, fault: Fault) -> None:
    """Kill a producer, and start it again unless the traffic is nearly over."""
    number = fault.target % len(world.scenario.producers)

    def again(life: int, reverted: Callable[[], None]) -> None:
        if world.engine.now < TRAFFIC_END - SECOND:
            world.produce(number, life)
        reverted()

    plan = world.scenario.producers[number]
    for producer in [item for item in world.producers if item.alive and item.plan is plan]:
        reverted = _journal(world, name, ACTIONS["kill"], {"uid": producer.incarnation})
        producer.kill()
        world.gone(producer, "producer", KILLED)
        world.engine.after(fault.lasts // 4, partial(again, producer.life + 1, reverted))


def _consumer(world: World, name: str, what: str, fault: Fault) -> None:
    living = [item for item in world.consumers if item.alive and not item.frozen]
    if not living:
        return
    consumer = living[fault.target % len(living)]
    reverted = _journal(world, name, ACTIONS[what], {"uid": consumer.incarnation})
    if what == "freeze":
        consumer.freeze()
        _stand(world, consumer.incarnation, "frozen")

        def thaw() -> None:
            _stand(world, consumer.incarnation, "thawed")
            consumer.thaw()
            reverted()

        world.engine.after(fault.lasts, thaw)
        return
    if what == "kill":
        consumer.kill()
    else:
        consumer.close()
    world.gone(consumer, "consumer", KILLED if what == "kill" else 0)

    def again() -> None:
        world.consume(consumer.group, consumer.name, consumer.life + 1)
        reverted()

    world.engine.after(fault.lasts // 4, again)
