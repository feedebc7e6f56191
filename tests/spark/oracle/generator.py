"""Random small histories in the language of cases: correct ones of a small simulation, then edited.

``simulate`` plays producers, consumers and elections of one topic and writes down what each party
would record. ``generate`` edits zero to three of its lines at random, so that rules meet histories
nobody thought of. A seed always gives the same text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.spark.oracle.edits import edit


@dataclass
class Slot:
    """One offset of a log: a record or, without a name, a marker or a gap."""

    name: str = ""
    key: str = ""
    state: str = "plain"
    safe: bool = True
    """Whether every replica has it."""


@dataclass
class Partition:
    number: int
    leader: int = 0
    epoch: int = 0
    isr: list[int] = field(default_factory=lambda: [0, 1])
    log: list[Slot] = field(default_factory=list)
    start: int = 0


@dataclass
class Producer:
    name: str
    acks: str
    idempotent: bool
    transactional: bool
    retries: bool
    incarnation: int = 1
    seq: int = 0
    transaction: int = 0

    def next_name(self) -> str:
        self.seq += 1
        return f"{self.name}/{self.incarnation}#{self.seq - 1}"


@dataclass
class Group:
    name: str
    committed_only: bool
    transactional: bool
    member: int = 0
    generation: int = 0
    owner: dict[int, str] = field(default_factory=dict)
    position: dict[int, int] = field(default_factory=dict)
    committed: dict[int, int] = field(default_factory=dict)
    frozen: set[str] = field(default_factory=set)
    transaction: int = 0


class Simulation:
    """A topic, its clients and its brokers; every method is something that happens."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311
        self.now = 1
        self.head: list[str] = []
        self.lines: list[str] = []
        self.faults = 0
        self.unclean = self.chance(0.5)
        self.partitions = [Partition(number) for number in range(self.random.randint(1, 3))]
        self.producers = [self.producer(name) for name in "pqr"[: self.random.randint(1, 3)]]
        self.groups = [self.group(name) for name in "gh"[: self.random.randint(0, 2)]]
        settings = ["unclean.leader.election.enable=true"] if self.unclean else []
        self.least = 2 if self.chance(0.3) else 1
        if self.least > 1:
            settings.append("min.insync.replicas=2")
        if settings:
            self.head.insert(0, "topic " + " ".join(settings))

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def write(self, line: str) -> None:
        self.lines.append(f"{line} at={self.now}")

    def wait(self) -> None:
        self.now += self.random.choice([1, 1, 1, 1, 2, 2, 3, 5, 20, 50])

    def producer(self, name: str) -> Producer:
        acks = self.random.choice(["all", "all", "all", "1", "0"])
        transactional = acks == "all" and self.chance(0.3)
        idempotent = acks == "all" and (transactional or self.chance(0.7))
        words = [f"acks={acks}"] if acks != "all" else []
        words += ["idempotent=false"] if not idempotent else []
        words += ["transactional=1"] if transactional else []
        retries = idempotent or self.chance(0.8)
        words += ["retries=0"] if not retries else []
        words += ["max.in.flight=1"] if not transactional and self.chance(0.2) else []
        if words:
            self.head.append(f"producer {name} " + " ".join(words))
        return Producer(name, acks, idempotent, transactional, retries)

    def group(self, name: str) -> Group:
        committed_only = self.chance(0.5)
        transactional = (
            name == "g" and self.producers[0].transactional and len(self.partitions) > 1
        ) and self.chance(0.5)
        words: list[str] = []
        words += ["isolation=read_committed"] if committed_only or transactional else []
        words += ["commit=Transactional"] if transactional else []
        self.head.append(" ".join(["group", name, *words]))
        return Group(name, committed_only or transactional, transactional)

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

    # Writing.
    def append(self, partition: Partition, slot: Slot) -> int:
        partition.log.append(slot)
        return len(partition.log) - 1

    def send(self) -> None:
        producer = self.random.choice(self.producers)
        if producer.transactional:
            self.transaction(producer)
            return
        partition = self.random.choice(self.partitions)
        name = producer.next_name()
        key = f" key={self.random.choice('ab')}" if self.chance(0.5) else ""
        sent, done = self.now, self.now + self.random.choice([0, 0, 1, 2, 30])
        outcome = self.random.choice([*["acked"] * 9, "unknown", "unknown", "failed"])
        where = str(partition.number)
        if producer.acks == "all" and len(partition.isr) < self.least:
            outcome = "unknown"
        written = outcome == "acked" or (outcome == "unknown" and self.chance(0.6))
        error = ""
        if outcome == "unknown" and producer.idempotent and self.chance(0.5):
            error = " error=_MSG_TIMED_OUT"
        if outcome == "acked" and producer.acks == "0" and self.chance(0.2):
            written = False
        if written:
            safe = producer.acks == "all" or self.chance(0.5)
            offset = self.append(partition, Slot(name, key, "plain", safe))
            if outcome == "acked" and producer.acks != "0":
                where += f"@{offset}"
            if not producer.idempotent and producer.retries and self.chance(0.1):
                self.append(partition, Slot(name, key, "plain", safe))
        self.lines.append(f"send {name} {where} {outcome}{key}{error} at={sent} done={done}")

    def transaction(
        self, producer: Producer, number: int | None = None, only: Partition | None = None
    ) -> tuple[str, list[int]]:
        if number is None:
            number = producer.transaction
            producer.transaction += 1
        decision = self.random.choice(["committed", "committed", "committed", "aborted", "unknown"])
        if any(len(partition.isr) < self.least for partition in self.partitions):
            decision = "aborted"
        outcome = {"committed": "acked", "aborted": "failed", "unknown": "unknown"}[decision]
        state = {"unknown": self.random.choice(["committed", "aborted", ""])}.get(
            decision, decision
        )
        touched: list[Partition] = []
        seqs: list[int] = []
        for _ in range(self.random.randint(1, 3)):
            partition = only or self.random.choice(self.partitions)
            seqs.append(producer.seq)
            name = producer.next_name()
            where = str(partition.number)
            if state:
                offset = self.append(partition, Slot(name, "", state))
                touched.append(partition)
                if outcome == "acked":
                    where += f"@{offset}"
            self.lines.append(
                f"send {name} {where} {outcome} txn={number}:{decision} at={self.now}"
            )
            self.wait()
        for partition in self.partitions:
            if partition in touched:
                self.append(partition, Slot())
        return decision if decision != "unknown" else f"unknown-{state}", seqs

    # Reading.
    def who(self, group: Group, partition: int) -> str:
        member = group.owner[partition]
        return member if group.name == "g" else f"{group.name}.{member}"

    def suffix(self, group: Group) -> str:
        return f" as=p/{self.producers[0].incarnation}" if group.transactional else ""

    def give(self, group: Group, partition: Partition, member: str) -> None:
        number = partition.number
        group.owner[number] = member
        group.position[number] = group.committed.get(number, partition.start)
        group.position[number] = min(group.position[number], len(partition.log))
        generation = f" gen={group.generation}" if self.chance(0.8) else ""
        self.write(
            f"assigned {self.who(group, number)} {number}@{group.position[number]}"
            f"{generation}{self.suffix(group)}"
        )

    def join(self, group: Group) -> None:
        group.generation += 1
        members = self.random.randint(1, 2)
        for partition in self.partitions:
            group.member += partition.number < members
            self.give(group, partition, f"c{group.member}")

    def poll(self) -> None:
        if not self.groups:
            return
        group = self.random.choice(self.groups)
        partition = self.random.choice(self.partitions)
        if partition.number in group.owner and group.owner[partition.number] not in group.frozen:
            self.read(group, partition, self.random.randint(1, 3))

    def read(self, group: Group, partition: Partition, most: int) -> None:
        number = partition.number
        if group.position[number] > len(partition.log):
            group.position[number] = len(partition.log)
            self.write(
                f"reset {self.who(group, number)} {number}@{len(partition.log)}{self.suffix(group)}"
            )
        if group.transactional:
            self.transform(group, partition)
            return
        outcome = self.random.choice([*[""] * 12, " outcome=failed"])
        poll = f" poll={self.now}" if self.chance(0.5) else ""
        start = group.position[number]
        while most and group.position[number] < len(partition.log):
            offset = group.position[number]
            slot = partition.log[offset]
            group.position[number] += 1
            if slot.name and (slot.state != "aborted" or not group.committed_only):
                most -= 1
                self.write(
                    f"got {self.who(group, number)} {number}@{offset} {slot.name}{outcome}{poll}"
                )
        if outcome:
            group.position[number] = start

    def transform(self, group: Group, partition: Partition) -> None:
        number, producer = partition.number, self.producers[0]
        output = self.partitions[-1]
        offset = group.position[number]
        while offset < len(partition.log):
            slot = partition.log[offset]
            if slot.name and slot.state != "aborted":
                break
            offset += 1
        if offset >= len(partition.log) or partition is output:
            return
        name = partition.log[offset].name
        transaction = producer.transaction
        producer.transaction += 1
        before = len(self.lines)
        decision, seqs = self.transaction(producer, transaction, output)
        outcome = {"committed": "", "aborted": " outcome=failed"}.get(decision, " outcome=unknown")
        at = self.now
        self.lines.insert(
            before,
            f"got {self.who(group, number)} {number}@{offset} {name} txn={transaction}"
            f" out={seqs[0]}{outcome}{self.suffix(group)} at={at}",
        )
        event = {"committed": "committed", "aborted": "commit_failed"}
        self.write(
            f"{event.get(decision, 'commit_unknown')} {self.who(group, number)}"
            f" {number}@{offset + 1} txn={transaction}{self.suffix(group)}"
        )
        if decision in ("committed", "unknown-committed"):
            group.position[number] = group.committed[number] = offset + 1
        else:
            self.write(f"seek {self.who(group, number)} {number}@{offset}{self.suffix(group)}")
            group.position[number] = offset

    def commit(self) -> None:
        for group in self.groups:
            for number, position in group.position.items():
                if group.transactional or group.owner[number] in group.frozen:
                    continue
                if self.chance(0.5) and group.committed.get(number) != position:
                    event = "commit_unknown" if self.chance(0.1) else "committed"
                    generation = f" gen={group.generation}" if self.chance(0.7) else ""
                    self.write(f"{event} {self.who(group, number)} {number}@{position}{generation}")
                    if event == "committed" or self.chance(0.5):
                        group.committed[number] = position

    def rebalance(self) -> None:
        if not self.groups:
            return
        group = self.random.choice(self.groups)
        partition = self.random.choice(self.partitions)
        number = partition.number
        if number not in group.owner:
            return
        how = self.random.choice(["revoked", "lost", "exited", "closed"])
        member = group.owner[number]
        owned = [item for item in self.partitions if group.owner[item.number] == member]
        if how == "exited":
            self.write(f"pod exited {self.who(group, number)}")
        elif how == "closed":
            self.write(f"closed {self.who(group, number)}{self.suffix(group)}")
        else:
            owned = [partition]
            self.write(f"{how} {self.who(group, number)} {number}{self.suffix(group)}")
        self.wait()
        group.generation += 1
        group.member += 1
        for item in owned:
            self.give(group, item, f"c{group.member}")

    def freeze(self) -> None:
        if not self.groups:
            return
        group = self.random.choice(self.groups)
        number = self.random.choice(self.partitions).number
        if number not in group.owner or group.owner[number] in group.frozen:
            return
        member = group.owner[number]
        self.write(f"freeze {self.who(group, number)}")
        who = self.who(group, number)
        length = self.random.choice([5, 20, 60, 100])
        partitions = [item for item in self.partitions if group.owner[item.number] == member]
        if length > 40:
            self.now += 45
            group.generation += 1
            group.member += 1
            pending = [(item, group.position[item.number]) for item in partitions]
            for item in partitions:
                self.give(group, item, f"c{group.member}")
            for item in partitions:
                self.read(group, item, 2)
            self.now += length - 45
            self.write(f"thaw {who}")
            for item, offset in pending:
                if self.chance(0.5) and offset < len(item.log) and not group.transactional:
                    slot = item.log[offset]
                    if slot.name and slot.state != "aborted":
                        self.now += self.random.choice([1, 60])
                        self.write(f"got {who} {item.number}@{offset} {slot.name}")
                self.write(f"lost {who} {item.number}{self.suffix(group)}")
        else:
            self.now += length
            self.write(f"thaw {who}")

    # Brokers.
    def leader(self, partition: Partition) -> None:
        isr = ",".join(str(broker) for broker in partition.isr)
        self.write(f"leader {partition.number} {partition.leader} {partition.epoch} {isr}")

    def cut(self, partition: Partition, lowest: int) -> None:
        """Cut the log at some offset at or above ``lowest``."""
        end = self.random.randint(lowest, len(partition.log)) if self.chance(0.7) else lowest
        del partition.log[end:]

    def elect(self) -> None:
        partition = self.random.choice(self.partitions)
        safe = max(
            (offset + 1 for offset, slot in enumerate(partition.log) if slot.safe), default=0
        )
        others = [broker for broker in partition.isr if broker != partition.leader]
        if others:
            partition.leader = self.random.choice(others)
            partition.isr = [partition.leader]
            self.cut(partition, safe)
        elif self.unclean:
            partition.leader = self.random.choice(
                [broker for broker in range(3) if broker != partition.leader]
            )
            partition.isr = [partition.leader]
            self.cut(partition, partition.start)
        else:
            return
        partition.epoch += 1
        for slot in partition.log:
            slot.safe = True
        self.leader(partition)

    def shrink(self) -> None:
        partition = self.random.choice(self.partitions)
        if len(partition.isr) > 1:
            partition.isr = [partition.leader]
        else:
            partition.isr = sorted({partition.leader, self.random.randint(0, 2)})
        self.leader(partition)

    def restart(self) -> None:
        producer = self.random.choice(self.producers)
        if producer.seq:
            if self.chance(0.6):
                self.lines.append(f"killed {producer.name}/{producer.incarnation}")
                if self.chance(0.3):
                    partition = self.random.choice(self.partitions)
                    state = "aborted" if producer.transactional else "plain"
                    self.append(partition, Slot(producer.next_name(), "", state))
            producer.incarnation += 1
            producer.seq = producer.transaction = 0

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

    def expire(self) -> None:
        if self.chance(0.3):
            partition = self.random.choice(self.partitions)
            partition.start = min(len(partition.log), partition.start + self.random.randint(1, 2))

    def refuse(self) -> None:
        if self.chance(0.5):
            self.write(f"refused {self.random.choice(self.partitions).number}")

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

    def drain(self, partition: Partition) -> None:
        for group in self.groups:
            number = partition.number
            if number not in group.owner or self.chance(0.1):
                continue
            for _ in range(20):
                if group.position[number] >= len(partition.log) and self.chance(0.9):
                    break
                self.wait()
                self.read(group, partition, 3)
            if group.position[number] >= len(partition.log) or group.transactional:
                self.write(f"drained {self.who(group, number)} {number}{self.suffix(group)}")


def simulate(seed: int) -> str:
    """Return a history in which every party did right."""
    simulation = Simulation(seed)
    return simulation.run(simulation.random.randint(4, 20))


def generate(seed: int) -> str:
    """Return a history of the simulation with up to three of its lines edited."""
    lines = simulate(seed).splitlines()
    random = Random(seed + 1_000_000_007)  # noqa: S311
    for _ in range(random.choice([0, 1, 1, 1, 2, 2, 3])):
        lines = edit(random, lines)
    return "\n".join(readable(lines))


def readable(lines: list[str]) -> list[str]:
    """Return the lines without records of logs that were not read."""
    unread = {line.split()[1] for line in lines if line.startswith("unread")}
    return [
        line
        for line in lines
        if not line.startswith("log") or line.split()[1].partition("@")[0] not in unread
    ]
