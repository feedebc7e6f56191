"""Brokers of the simulation: elections, clean and unclean, ISRs, expiry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.oracle.world import World

if TYPE_CHECKING:
    from tests.spark.oracle.world import Group, Partition


class Brokers(World):
    """What brokers do."""

    def leader(self, partition: Partition) -> None:
        isr = ",".join(str(broker) for broker in partition.isr)
        self.state(f"leader {partition.number} {partition.leader} {partition.epoch} {isr}")

    def state(self, line: str) -> None:
        """Write a state of a partition, as it was recorded: polling may miss it, or be late."""
        if self.polled:
            if self.chance(0.2):
                return
            line += f" until={max(0, self.now - self.random.choice([0.1, 1, 5, 20]))}"
        self.write(line)

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
        elif partition.unclean:
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

    def elect_for(self, group: Group) -> None:
        """Elect a leader of the partition that holds a group's commits."""
        offsets = group.offsets
        isr = ",".join(str(broker) for broker in offsets.isr)
        self.state(f"offsets-leader {group.name} {offsets.leader} {offsets.epoch} {isr}")
        offsets.epoch += 1

    def shrink(self) -> None:
        partition = self.random.choice(self.partitions)
        if len(partition.isr) > 1:
            partition.isr = [partition.leader]
        else:
            partition.isr = sorted({partition.leader, self.random.randint(0, 2)})
        self.leader(partition)

    def expire(self) -> None:
        if self.chance(0.3):
            partition = self.random.choice(self.partitions)
            partition.start = min(len(partition.log), partition.start + self.random.randint(1, 2))

    def refuse(self) -> None:
        if self.chance(0.5):
            self.write(f"refused {self.random.choice(self.partitions).number}")
