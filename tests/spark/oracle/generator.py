"""Random small histories in the language of cases: correct ones of a small simulation, then edited.

``simulate`` plays producers, consumers and elections of one topic and writes down what each party
would record. ``generate`` edits zero to three of its lines at random, so that rules meet histories
nobody thought of. A seed always gives the same text.
"""

from __future__ import annotations

from random import Random

from tests.spark.oracle.brokers import Brokers
from tests.spark.oracle.edits import edit
from tests.spark.oracle.readers import Readers


class Simulation(Readers, Brokers):
    """Everything that happens, in a random order."""

    def run(self, steps: int) -> str:
        for partition in self.partitions:
            if self.chance(0.8):
                self.leader(partition)
        for group in self.groups:
            self.join(group)
        actions = [
            *[self.send] * 8, *[self.poll] * 8, *[self.commit] * 3, self.elect, self.rebalance,
            self.shrink, self.restart, self.fault, self.freeze, self.expire, self.refuse,
        ]  # fmt: skip
        for _ in range(steps):
            self.wait()
            self.random.choice(actions)()
        self.finish()
        return "\n".join([*self.head, *self.lines])

    def fault(self) -> None:
        self.faults += 1
        name = f"f{self.faults}"
        if self.chance(0.6):
            self.write(f"fault {name} CrashPod")
            self.now += self.random.choice([2, 10])
            for _ in range(3):
                self.random.choice([self.send, self.poll])()
            self.write(f"reverted {name}")
            return
        partition = self.random.choice(self.partitions)
        self.write(f"fault {name} LoseDisk member=kafka-{partition.leader}")
        self.now += 1
        if partition.isr == [partition.leader]:
            partition.epoch += 1
            leader, partition.leader = partition.leader, -1
            self.leader(partition)
            self.now += 2
            partition.leader = leader
            self.cut(partition, partition.start)
        else:
            partition.leader = next(one for one in partition.isr if one != partition.leader)
            partition.isr = [partition.leader]
        partition.epoch += 1
        self.leader(partition)
        self.write(f"reverted {name}")

    def finish(self) -> None:
        self.wait()
        for partition in self.partitions:
            self.drain(partition)
        for partition in self.partitions:
            for offset, slot in enumerate(partition.log):
                if slot.name and offset >= partition.start:
                    state = f" state={slot.state}" if slot.state != "plain" else ""
                    key = slot.key
                    self.lines.append(f"log {partition.number}@{offset} {slot.name}{state}{key}")
            self.head.append(f"bounds {partition.number} {partition.start}..{len(partition.log)}")
            if self.chance(0.04):
                self.head.append(f"unread {partition.number}")
            if self.chance(0.04):
                self.head.append(f"unsettled {partition.number}")


def simulate(seed: int) -> str:
    """Return a history in which every party did right."""
    simulation = Simulation(seed)
    return simulation.run(simulation.random.randint(5, 26))


def generate(seed: int) -> str:
    """Return a history of the simulation with up to three of its lines edited."""
    lines = simulate(seed).splitlines()
    random = Random(seed + 1_000_000_007)  # noqa: S311
    for _ in range(random.choice([0, 1, 1, 1, 2, 2, 3])):
        lines = edit(random, lines)
    return "\n".join(readable(lines))


def readable(lines: list[str]) -> list[str]:
    """Return the lines as a reader of the topics can have written them.

    It wrote no records of logs that were not read, and one record an offset; the same one may be
    listed twice, if a file is there twice.
    """
    unread = {line.split()[1] for line in lines if line.startswith("unread")}
    listed: dict[str, str] = {}
    found: list[str] = []
    for line in lines:
        if line.startswith("log"):
            _, place, record, *_ = line.split()
            if place.partition("@")[0] in unread or listed.setdefault(place, record) != record:
                continue
        found.append(line)
    return found
