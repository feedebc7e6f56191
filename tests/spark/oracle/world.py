"""What the simulation of small histories consists of: logs, producers, groups, and a clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


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
    unclean: bool = False
    """Whether a replica that is not in sync may be elected."""
    least: int = 1
    """How many replicas must be in sync for a send with acks=all."""

    @property
    def second(self) -> bool:
        """Whether it is of the second topic."""
        return self.number >= 4


@dataclass
class Producer:
    name: str
    acks: str
    idempotent: bool
    transactional: bool
    retries: bool
    second: bool
    """Whether it sends to the second topic."""
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
    offsets: Partition = field(default_factory=lambda: Partition(-1))
    """The partition of __consumer_offsets that holds its commits."""
    frozen: set[str] = field(default_factory=set)
    pods: dict[str, Producer] = field(default_factory=dict)
    """Members that also produce, each a process of its own."""
    transaction: int = 0


OFFSETS = 50
"""Each so many-th seed has a group of its own, which may lose commits: few fit into one run."""


POLLED = 8
"""Of each so many-th seed, leaders were seen by polling."""


class World:
    """A topic, its clients and its brokers, and the lines that they recorded."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311
        self.now = 1
        self.head: list[str] = []
        self.lines: list[str] = []
        self.faults = 0
        # Commits can be lost by a group that no other history shares.
        self.loses_offsets = seed % OFFSETS == 0
        self.polled = seed % POLLED == 0
        if self.polled:
            self.head.append("polled")
        self.partitions = self.topic("topic", 0, self.random.randint(1, 3))
        if self.chance(0.3):
            self.partitions += self.topic("second-topic", 4, self.random.randint(1, 2))
        self.producers = [self.producer(name) for name in "pqr"[: self.random.randint(1, 3)]]
        fewest = 1 if self.loses_offsets else 0
        self.groups = [self.group(name) for name in "gh"[: self.random.randint(fewest, 2)]]

    def topic(self, kind: str, first: int, count: int) -> list[Partition]:
        unclean = self.chance(0.5)
        least = 2 if self.chance(0.3) else 1
        settings = ["unclean.leader.election.enable=true"] if unclean else []
        settings += ["min.insync.replicas=2"] if least > 1 else []
        if settings:
            self.head.append(" ".join([kind, *settings]))
        return [
            Partition(number, unclean=unclean, least=least)
            for number in range(first, first + count)
        ]

    def sent_to(self, producer: Producer) -> list[Partition]:
        """Return the partitions of the topic that a producer sends to."""
        return [item for item in self.partitions if item.second == producer.second]

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
        # The first one is that of the group that writes, to the last partition.
        second = self.partitions[-1].second and (name == "p" or self.chance(0.5))
        words += ["topic=second"] if second else []
        if words:
            self.head.append(f"producer {name} " + " ".join(words))
        return Producer(name, acks, idempotent, transactional, retries, second)

    def group(self, name: str) -> Group:
        committed_only = self.chance(0.5)
        transactional = (
            name == "g" and self.producers[0].transactional and len(self.partitions) > 1
        ) and self.chance(0.5)
        words: list[str] = []
        words += ["isolation=read_committed"] if committed_only or transactional else []
        words += ["commit=Transactional"] if transactional else []
        words += ["output=second"] if transactional and self.partitions[-1].second else []
        words += ["own=1"] if name == "g" and self.loses_offsets else []
        self.head.append(" ".join(["group", name, *words]))
        return Group(name, committed_only or transactional, transactional)
