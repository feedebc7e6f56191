"""Producers of the simulation: sends, retries, transactions, restarts."""

from __future__ import annotations

from tests.spark.oracle.world import Partition, Producer, Slot, World


class Writers(World):
    """What producers do."""

    def append(self, partition: Partition, slot: Slot) -> int:
        partition.log.append(slot)
        return len(partition.log) - 1

    def send(self) -> None:
        producer = self.random.choice(self.producers)
        if producer.transactional:
            self.transaction(producer)
            return
        partition = self.random.choice(self.sent_to(producer))
        name = producer.next_name()
        key = f" key={self.random.choice('ab')}" if self.chance(0.5) else ""
        sent, done = self.now, self.now + self.random.choice([0, 0, 1, 2, 30])
        outcome = self.random.choice([*["acked"] * 9, "unknown", "unknown", "failed"])
        where = str(partition.number)
        if producer.acks == "all" and len(partition.isr) < partition.least:
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
        if any(len(item.isr) < item.least for item in self.sent_to(producer)):
            decision = "aborted"
        outcome = {"committed": "acked", "aborted": "failed", "unknown": "unknown"}[decision]
        state = {"unknown": self.random.choice(["committed", "aborted", ""])}.get(
            decision, decision
        )
        touched: list[Partition] = []
        seqs: list[int] = []
        for _ in range(self.random.randint(1, 3)):
            partition = only or self.random.choice(self.sent_to(producer))
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

    def restart(self) -> None:
        producer = self.random.choice(self.producers)
        if producer.seq:
            if self.chance(0.6):
                self.lines.append(f"killed {producer.name}/{producer.incarnation}")
                if self.chance(0.3):
                    partition = self.random.choice(self.sent_to(producer))
                    state = "aborted" if producer.transactional else "plain"
                    self.append(partition, Slot(producer.next_name(), "", state))
            producer.incarnation += 1
            producer.seq = producer.transaction = 0
