"""Generated histories: every value is a formula of its number, and what is wrong is counted.

Topic *plain*: four idempotent producers send round robin to six partitions, read by a group of two.
Topic *txn*: two producers send in transactions of 60, one in 50 aborted, read by a group of one
that sees only what was committed. 20 000 sends a second in all. The leader of a partition is
unavailable for 6 s in the middle; later a consumer is killed and its successor
begins at the last commit.
``Planted`` is what has been planted: the known number of each anomaly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

BUNDLE = "bench/history/00000000-0000-4000-8000-000000000000"
RUN_UID = BUNDLE.rsplit("/", 1)[1]
T0 = 1_800_000_000_000_000
"""Start of the run, UTC µs."""

PLAIN, TXN = "plain", "txn"
PRODUCERS, WRITERS, PARTITIONS, CONSUMERS = 4, 2, 6, 2
OWNED = PARTITIONS // CONSUMERS
BLOCK = PRODUCERS * PARTITIONS
"""Sends to the plain topic in which each producer sends once to each partition."""

PLAIN_STEP, TXN_STEP = 64, 192
"""µs between sends to a topic: a quarter of all sends go to the transactional one."""

LENGTH = 60
"""Sends of a transaction."""

ROUND = WRITERS * LENGTH
"""Sends of one transaction of each writer."""

OFFSETS_PER_ROUND = ROUND // PARTITIONS + WRITERS
"""Offsets a round takes in each partition: its records and a marker a transaction."""

ABORT_EVERY, ABORT_AT = 50, 7

OUTAGE = 6_000_000
ACK, DELIVERY = 4_000, 2_000
DONE_WITHIN = 10_000
"""µs after its schedule in which a send is done and delivered in the steady state."""

POLL = 500
EVEN = 10
"""``n`` of a consumer's first delivery; deliveries have even numbers, events odd ones."""

LOST_IN = 2
"""Partition of the lost records."""

COMMIT_EVERY = 1_000
"""Blocks between commits."""

BEYOND = 100
"""Blocks the killed consumer had delivered beyond its last commit."""

BACK = 3_000_000
"""µs until the successor owns the partitions."""

CATCH_UP = 10
"""µs a delivery while the successor catches up."""

APART = 10
"""Blocks between two plants of a kind."""


@dataclass(frozen=True)
class Planted:
    """A history's size and what is wrong in it, the same number of each at every size."""

    sends: int

    lost: int = 7
    unseen: int = 5
    copied: int = 4
    swapped: int = 6
    damaged: int = 3
    unknown: int = 6
    dirty: int = 2

    @cached_property
    def rounds(self) -> int:
        """Transactions of each writer."""
        return self.sends // 4 // ROUND

    @cached_property
    def blocks(self) -> int:
        """Blocks of sends to the plain topic."""
        return (self.sends - self.rounds * ROUND) // BLOCK

    @property
    def plain(self) -> int:
        """Sends to the plain topic."""
        return self.blocks * BLOCK

    @property
    def txn(self) -> int:
        """Sends to the transactional topic."""
        return self.rounds * ROUND

    @cached_property
    def failed(self) -> int:
        """Sends of aborted transactions."""
        return LENGTH * sum(aborted(p, r) for r in range(self.rounds) for p in range(WRITERS))

    def plain_end(self, partition: int) -> int:
        """Return the end offset of a partition of the plain topic."""
        return self.blocks * PRODUCERS + (0 if partition else self.copied)

    @property
    def end(self) -> int:
        """When the last send was due, µs."""
        return T0 + self.plain * PLAIN_STEP

    @property
    def outage(self) -> tuple[int, int]:
        """When the leader of partition 0 was unavailable."""
        begin = T0 + self.blocks // 2 * BLOCK * PLAIN_STEP
        return begin, begin + OUTAGE

    @property
    def committed(self) -> int:
        """Block of the last commit of the consumer that is killed."""
        return self.blocks * 3 // 4 // COMMIT_EVERY * COMMIT_EVERY

    @property
    def killed(self) -> int:
        """First block it had not delivered."""
        return self.committed + BEYOND

    @property
    def killed_at(self) -> int:
        """When it was killed, µs."""
        return due(self.killed) + 2 * DONE_WITHIN

    def spots(self, share: int, count: int) -> list[int]:
        """Return ``count`` blocks from one eighth of the run on, ``share`` eighths."""
        first = self.blocks * share // 8
        return [first + APART * number for number in range(count)]

    @property
    def lost_blocks(self) -> list[int]:
        """Blocks whose send of producer 0 to partition 2 was acked and is nowhere."""
        return self.spots(1, self.lost)

    @property
    def swapped_blocks(self) -> list[int]:
        """Blocks whose send of producer 1 to partition 4 lies where the next one should."""
        return self.spots(2, self.swapped)

    @property
    def damaged_blocks(self) -> list[int]:
        """Blocks whose send of producer 2 to partition 5 was delivered with other bytes."""
        return self.spots(2, self.damaged)

    @property
    def unknown_blocks(self) -> list[int]:
        """Blocks whose send of producer 3 to partition 3 got no answer."""
        return self.spots(3, self.unknown)

    def unknown_seqs(self, producer: int) -> list[int]:
        """Return the seqs of a plain producer's sends whose outcome it does not know."""
        own = self.unknown_blocks if producer == PRODUCERS - 1 else []
        return [block * PARTITIONS + 3 for block in own]

    @property
    def unseen_blocks(self) -> list[int]:
        """Blocks whose send of producer 3 to partition 1 was never delivered to the group.

        In the middle of a poll, so that it is skipped inside one.
        """
        return [_inside_poll(block) for block in self.spots(7, self.unseen)]

    @property
    def dirty_rounds(self) -> list[int]:
        """Aborted transactions of writer 1 whose first send was delivered all the same."""
        return [number for number in range(self.rounds) if aborted(1, number)][: self.dirty]

    def commits(self, consumer: int) -> list[tuple[int, int, int]]:
        """Return (incarnation, block, µs) of the commits of a member of the plain group."""
        blocks = [*range(COMMIT_EVERY, self.blocks, COMMIT_EVERY), self.blocks]
        return [
            (number, block, self.delivered_at(consumer, number, block) + ACK)
            for block in blocks
            for number in [int(consumer == 1 and block > self.committed)]
        ]

    def delivered_at(self, consumer: int, incarnation: int, block: int) -> int:
        """Return by when everything before a block was delivered."""
        begin, end = self.outage
        at = due(block) + DONE_WITHIN
        if incarnation:
            order = (block - self.committed) * BLOCK // CONSUMERS
            return max(at, self.killed_at + BACK + order * CATCH_UP)
        return max(at, end + DONE_WITHIN) if consumer == 0 and at >= begin else at

    @property
    def expected(self) -> dict[str, int]:
        """Anomaly → what the scorecard must count; every other must count 0."""
        above = self.unseen_blocks[0] * PRODUCERS + 3
        return {
            "lost-write": self.lost,
            "unseen": self.unseen,
            "int-poll-skip": self.unseen,
            "commit-ahead": sum(block * PRODUCERS > above for _, block, _ in self.commits(0)),
            "duplicate-write": self.copied,
            "duplicate-delivery": BEYOND * PRODUCERS * OWNED,
            "nonmonotonic-send": self.swapped,
            "corrupt-payload": self.damaged,
            "aborted-read": self.dirty,
        }

    @property
    def outcomes(self) -> dict[str, int]:
        """Outcome in the ledger → what the scorecard must count."""
        attempted = self.plain + self.txn
        return {
            "attempted": attempted,
            "acked": attempted - self.failed - self.unknown,
            "failed": self.failed,
            "unknownInLog": self.unknown,
            "lost": self.lost,
            "undelivered": self.unseen,
            "logRecords": attempted - self.lost + self.copied,
            "deliveries": self.deliveries,
        }

    @property
    def deliveries(self) -> int:
        """Rows of all consumers' ledgers."""
        again = BEYOND * PRODUCERS * OWNED
        plain = self.plain - self.lost - self.unseen + self.copied + again
        return plain + self.txn - self.failed + self.dirty


def aborted(writer: int, number: int) -> bool:
    """Whether a writer aborted its transaction of that number."""
    return (number * WRITERS + writer) % ABORT_EVERY == ABORT_AT


def due(block: int) -> int:
    """Return when a block's first send was due, µs."""
    return T0 + block * BLOCK * PLAIN_STEP


def _inside_poll(block: int) -> int:
    margin = BLOCK * 2
    while not margin < block * (BLOCK // CONSUMERS) % POLL < POLL - margin:
        block += 1
    return block


def identities() -> Iterable[tuple[str, str, int]]:
    """Yield (producer, incarnation, number) of the plain producers, then of the writers."""
    for number in range(PRODUCERS):
        yield f"p-{number}", uid("a", number), number
    for number in range(WRITERS):
        yield f"t-{number}", uid("b", number), number


def uid(kind: str, number: int) -> str:
    """Return the uid of a pod."""
    return f"{kind}0000000-0000-4000-8000-{number:012d}"
