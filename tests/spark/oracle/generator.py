"""Random small histories in the language of cases: correct ones of a small simulation, then edited.

``simulate`` plays producers, consumers and elections of one or two topics and writes down what each
party would record. ``generate`` edits zero to three of its lines at random, so that rules meet
histories nobody thought of. A seed always gives the same text.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.spark.oracle.brokers import Brokers
from tests.spark.oracle.edits import edit
from tests.spark.oracle.readers import Readers

if TYPE_CHECKING:
    from tests.spark.oracle.world import Partition


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
            self.reassign,
        ]  # fmt: skip
        if self.loses_offsets:
            actions += [self.lose_offsets, self.lose_offsets, self.rebalance, self.commit]
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

    def lose_offsets(self) -> None:
        """Lose commits of the group that no other history shares, by a disk or by a defect."""
        if not self.loses_offsets:
            return
        group = self.groups[0]
        for partition in self.partitions:
            if partition.number in group.owner:
                self.read(group, partition, 3)
        self.commit()
        self.wait()
        offsets = group.offsets
        if not offsets.epoch:
            self.elect_for(group)
        if self.chance(0.7):
            self.faults += 1
            self.write(f"fault f{self.faults} LoseDisk member=kafka-{offsets.leader}")
            self.now += 1
            offsets.isr = [offsets.leader]
            self.elect_for(group)
            self.write(f"reverted f{self.faults}")
        elif self.chance(0.5):
            others = [broker for broker in range(3) if broker != offsets.leader]
            offsets.leader = self.random.choice(others)
            offsets.isr = sorted({0, 1, offsets.leader})
            self.elect_for(group)
        for number, offset in list(group.committed.items()):
            group.committed[number] = self.random.choice([0, max(0, offset - 1), offset])
        for number in sorted(group.owner):
            if self.chance(0.7):
                partition = next(item for item in self.partitions if item.number == number)
                suffix = self.suffix(group, group.owner[number])
                self.write(f"lost {self.who(group, number)} {number}{suffix}")
                group.generation += 1
                group.member += 1
                self.give(group, partition, f"c{group.member}")

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
            if self.chance(0.06):
                self.head.append(f"unread {partition.number}")
            if self.chance(0.04):
                self.head.append(f"unsettled {partition.number}")
        if self.chance(0.3):
            self.dump_replicas()

    def dump_replicas(self) -> None:
        """Write what the replicas of each partition hold: of those in sync, all of the log."""
        for partition in self.partitions:
            number = partition.number
            self.head.append(f"isr {number} {','.join(str(broker) for broker in partition.isr)}")
            for broker in sorted({*partition.isr, self.random.randint(0, 2)}):
                end = len(partition.log)
                if broker not in partition.isr:
                    end = self.random.randint(0, end)
                if self.chance(0.1):
                    self.head.append(f"undumped {broker} {number}")
                    end = self.random.randint(0, end)
                if end <= partition.start:
                    self.lines.append(f"replica {broker} {number} empty")
                for offset in range(partition.start, end):
                    slot = partition.log[offset]
                    decision = "abort" if self.is_abort(partition, offset) else "commit"
                    what = slot.name or f"control={decision}"
                    self.lines.append(f"replica {broker} {number}@{offset} {what} epoch=0")

    def is_abort(self, partition: Partition, offset: int) -> bool:
        """Whether a marker is that of an aborted transaction."""
        return offset > 0 and partition.log[offset - 1].state == "aborted"


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
    dumped: set[tuple[str, str, int]] = set()
    for line in lines:
        if line.startswith("log"):
            _, place, record, *_ = line.split()
            if place.partition("@")[0] in unread or listed.setdefault(place, record) != record:
                continue
        if line.startswith("replica"):
            # A dump has one row an offset, or none.
            place, what = line.split()[2:4]
            offsets = offsets_of(line)
            if dumped & offsets or ("@" in place) == (what == "empty"):
                continue
            dumped |= offsets
        found.append(line)
    return found


def offsets_of(line: str) -> set[tuple[str, str, int]]:
    """Return broker, partition and offsets of a batch of a replica."""
    _, broker, place, *_ = line.split()
    partition, _, offsets = place.partition("@")
    first, _, last = offsets.partition("..")
    ends = int(first or 0), int(last or first or -1)
    return {(broker, partition, offset) for offset in range(ends[0], ends[1] + 1)}
