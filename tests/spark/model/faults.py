"""What befalls a world: brokers, clients and ZooKeeper, each healed in its time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.spark.model.engine import SECOND
from tests.spark.model.scenario import TRAFFIC_END

if TYPE_CHECKING:
    from tests.spark.model.scenario import Fault
    from tests.spark.model.world import World

KILLED = 137


def hit(world: World, name: str, fault: Fault) -> None:
    """Inject a fault; one on a broker that another fault has is left out."""
    what, _, role = fault.kind.rpartition("-")
    if role == "broker":
        _broker(world, name, what, fault)
    elif role == "producer":
        _producer(world, fault.target % len(world.scenario.producers), fault.lasts)
    elif role == "consumer":
        _consumer(world, what, fault)
    elif role == "prefer":
        world.cluster.prefer()
    else:
        world.cluster.zookeeper_up = False
        world.engine.after(fault.lasts, lambda: setattr(world.cluster, "zookeeper_up", True))


def _broker(world: World, name: str, what: str, fault: Fault) -> None:
    broker, lasts, cluster = fault.target, fault.lasts, world.cluster
    if broker in world.down:
        return
    world.down.add(broker)
    if what == "freeze":
        cluster.freeze(broker)
        _stand(world, f"kafka-{broker}", "frozen", member=f"kafka-{broker}")
        world.engine.after(lasts, lambda: _thaw(world, broker))
        return
    if what == "shut-down":
        cluster.shut_down(broker)
    else:
        cluster.crash(broker)
    if what == "wipe":
        cluster.wipe(broker)
        # The one fault the rules must hear of from the journal; all others show elsewhere.
        targets = [{"member": f"kafka-{broker}"}]
        world.tell("fault", "injected", name, action="LoseDisk", targets=targets)
        world.engine.after(lasts, lambda: world.tell("fault", "healed", name))
        world.engine.after(lasts + 3 * SECOND, lambda: world.tell("fault", "recovered", name))
    world.engine.after(lasts + SECOND, lambda: _up(world, broker))


def _up(world: World, broker: int) -> None:
    world.cluster.restart(broker)
    world.engine.after(2 * SECOND, lambda: world.down.discard(broker))


def _thaw(world: World, broker: int) -> None:
    world.cluster.thaw(broker)
    _stand(world, f"kafka-{broker}", "thawed", member=f"kafka-{broker}")
    world.down.discard(broker)


def _stand(world: World, uid: str, event: str, **detail: str) -> None:
    """A process stopped or went on."""
    world.tell("member", event, uid, uid=uid, **detail)


def _producer(world: World, number: int, lasts: int) -> None:
    """Kill a producer, and start it again unless the traffic is nearly over."""

    def again(life: int) -> None:
        if world.engine.now < TRAFFIC_END - SECOND:
            world.produce(number, life)

    plan = world.scenario.producers[number]
    for producer in [item for item in world.producers if item.alive and item.plan is plan]:
        producer.kill()
        world.gone(producer, "producer", KILLED)
        world.engine.after(lasts // 4, partial(again, producer.life + 1))


def _consumer(world: World, what: str, fault: Fault) -> None:
    living = [item for item in world.consumers if item.alive and not item.frozen]
    if not living:
        return
    consumer = living[fault.target % len(living)]
    if what == "freeze":
        consumer.freeze()
        _stand(world, consumer.incarnation, "frozen")

        def thaw() -> None:
            _stand(world, consumer.incarnation, "thawed")
            consumer.thaw()

        world.engine.after(fault.lasts, thaw)
        return
    if what == "kill":
        consumer.kill()
    else:
        consumer.close()
    world.gone(consumer, "consumer", KILLED if what == "kill" else 0)
    world.engine.after(
        fault.lasts // 4, lambda: world.consume(consumer.group, consumer.name, consumer.life + 1)
    )
