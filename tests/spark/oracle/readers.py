"""Consumer groups of the simulation: polls, commits, rebalances, transactions of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.spark.oracle.writers import Writers

if TYPE_CHECKING:
    from tests.spark.oracle.world import Group, Partition, Producer

FIRST_POD = 11
"""Incarnation of the first member that also produces, above those of producers alone."""


class Readers(Writers):
    """What consumers do."""

    def who(self, group: Group, partition: int) -> str:
        member = group.owner[partition]
        return member if group.name == "g" else f"{group.name}.{member}"

    def pod(self, group: Group, member: str) -> Producer:
        """Return the producer of a member that transforms: one process, which nobody else is."""
        if member not in group.pods:
            incarnation = FIRST_POD + len(group.pods)
            group.pods[member] = replace(
                self.producers[0], incarnation=incarnation, seq=0, transaction=0
            )
        return group.pods[member]

    def suffix(self, group: Group, member: str) -> str:
        return f" as=p/{self.pod(group, member).incarnation}" if group.transactional else ""

    def give(self, group: Group, partition: Partition, member: str) -> None:
        number = partition.number
        group.owner[number] = member
        group.position[number] = group.committed.get(number, partition.start)
        group.position[number] = min(group.position[number], len(partition.log))
        generation = f" gen={group.generation}" if self.chance(0.8) else ""
        self.write(
            f"assigned {self.who(group, number)} {number}@{group.position[number]}"
            f"{generation}{self.suffix(group, member)}"
        )

    def join(self, group: Group) -> None:
        group.generation += 1
        members = self.random.randint(1, 2)
        for partition in self.partitions:
            if group.transactional and partition is self.partitions[-1]:
                # Its own output goes there.
                continue
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
                f"reset {self.who(group, number)} {number}@{len(partition.log)}"
                f"{self.suffix(group, group.owner[number])}"
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
        number = partition.number
        member = group.owner[number]
        producer = self.pod(group, member)
        output = self.partitions[-1]
        offset = group.position[number]
        while offset < len(partition.log):
            slot = partition.log[offset]
            if slot.name and slot.state != "aborted":
                break
            offset += 1
        if offset >= len(partition.log):
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
            f" out={seqs[0]}{outcome}{self.suffix(group, member)} at={at}",
        )
        event = {"committed": "committed", "aborted": "commit_failed"}
        self.write(
            f"{event.get(decision, 'commit_unknown')} {self.who(group, number)}"
            f" {number}@{offset + 1} txn={transaction}{self.suffix(group, member)}"
        )
        if decision in ("committed", "unknown-committed"):
            group.position[number] = group.committed[number] = offset + 1
        else:
            suffix = self.suffix(group, member)
            self.write(f"seek {self.who(group, number)} {number}@{offset}{suffix}")
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
        owned = [item for item in self.partitions if group.owner.get(item.number) == member]
        if how == "exited":
            self.write(f"pod exited {self.who(group, number)}")
        elif how == "closed":
            self.write(f"closed {self.who(group, number)}{self.suffix(group, member)}")
        else:
            owned = [partition]
            suffix = self.suffix(group, member)
            self.write(f"{how} {self.who(group, number)} {number}{suffix}")
        self.wait()
        group.generation += 1
        group.member += 1
        for item in owned:
            self.give(group, item, f"c{group.member}")

    def reassign(self) -> None:
        """Rebalance a group that nobody joins or leaves."""
        if not self.groups:
            return
        group = self.random.choice(self.groups)
        self.now += self.random.choice([2, 10, 340, 400])
        group.generation += 1
        for partition in self.partitions:
            number = partition.number
            if number in group.owner and group.owner[number] not in group.frozen:
                suffix = self.suffix(group, group.owner[number])
                self.write(f"revoked {self.who(group, number)} {number}{suffix}")
                self.now += self.random.choice([0, 1, 4])
                self.give(group, partition, group.owner[number])

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
        partitions = [item for item in self.partitions if group.owner.get(item.number) == member]
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
                self.write(f"lost {who} {item.number}{self.suffix(group, member)}")
        else:
            self.now += length
            self.write(f"thaw {who}")

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
                suffix = self.suffix(group, group.owner[number])
                self.write(f"drained {self.who(group, number)} {number}{suffix}")
