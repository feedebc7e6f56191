"""Histories of a correct Kafka, seeded, with what makes corruptions interesting.

Transactions, of which some are aborted; markers; a producer that retries without idempotence;
two groups at different isolations; polls of several records; commits; a member that dies, whose
uncommitted records are delivered again; an election.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.spark.job.bundles import SECOND, T0, Rows, dump, event

from krt_contract.schemas import TABLES

TOPIC = "foo"
STEP = 20_000
"""µs between sends; acks come within half of it, so that few are under way together."""

BROKERS = (0, 1, 2)
GROUPS = {"strict": "read_committed", "loose": "read_uncommitted"}
ELECTED = 6 * SECOND


def plan(partitions: int) -> dict[str, Any]:
    producers = [
        {
            "name": "t",
            "topic": TOPIC,
            "replicas": 1,
            "acks": "all",
            "transactional": {"recordsPerTransaction": 10},
        },
        {"name": "p", "topic": TOPIC, "replicas": 1, "acks": "1", "enableIdempotence": False},
        {"name": "i", "topic": TOPIC, "replicas": 1, "acks": "all", "enableIdempotence": True},
    ]
    consumers = [
        {"name": group, "topics": [TOPIC], "group": group, "replicas": 2, "isolation": isolation}
        for group, isolation in GROUPS.items()
    ]
    return {
        "schemaVersion": 2,
        "run": {"namespace": "ns", "name": "t", "uid": "run-uid", "seed": 7},
        "bundle": "ns/t/run-uid",
        "spec": {
            "traffic": {"producers": producers, "consumers": consumers},
            "faults": [],
            "evidence": {"compareReplicas": True},
        },
        "topics": [{"name": TOPIC, "partitions": partitions, "replicationFactor": 3, "config": {}}],
        "brokerConfig": {"min.insync.replicas": "2", "zookeeper.session.timeout.ms": "2000"},
    }


@dataclass
class Simulation:
    """One run; ``sends`` records over ``partitions`` partitions."""

    seed: int
    sends: int
    partitions: int
    chance: random.Random = field(init=False)
    tables: dict[str, list[dict[str, Any]]] = field(init=False)
    ends: dict[int, int] = field(init=False)
    seqs: dict[str, int] = field(init=False)
    deaths: list[tuple[str, int]] = field(default_factory=list)
    now: int = T0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)  # noqa: S311 (histories, no secrets)
        self.tables = {name: [] for name in TABLES}
        self.ends = dict.fromkeys(range(self.partitions), 0)
        self.seqs = {"t-0": 0, "p-0": 0, "i-0": 0}

    def run(self) -> Rows:
        transaction = 0
        while sum(self.seqs.values()) < self.sends:
            if self.chance.random() < 0.4:
                self.transact(transaction)
                transaction += 1
            else:
                self.send(self.chance.choice(["p-0", "i-0"]))
        for group in GROUPS:
            self.read(group)
        self.close()
        return Rows(self.tables, self.events())

    def transact(self, number: int) -> None:
        aborted = self.chance.random() < 0.2
        touched = {
            self.send("t-0", number, aborted=aborted) for _ in range(self.chance.randint(3, 8))
        }
        for partition in touched:
            # The marker takes an offset and is no record.
            self.ends[partition] += 1

    def send(self, producer: str, transaction: int | None = None, *, aborted: bool = False) -> int:
        self.now += STEP
        partition = self.chance.randrange(self.partitions)
        offset = self.ends[partition]
        self.ends[partition] += 1
        took = self.chance.randint(2_000, STEP // 2)
        record_outcome = None if transaction is None else "aborted" if aborted else "committed"
        key = f"k{self.chance.randrange(3)}"
        identity = {
            "producer": producer,
            "producer_incarnation": f"uid-{producer}",
            "seq": self.seqs[producer],
        }
        self.seqs[producer] += 1
        self.tables["produce"].append(
            identity
            | {
                "topic": TOPIC,
                "partition": partition,
                "key": key,
                "scheduled_at": self.now,
                "sent_at": self.now + 100,
                "done_at": self.now + 100 + took,
                "sent_mono": self.now + 100 - T0,
                "done_mono": self.now + 100 + took - T0,
                "outcome": "failed" if aborted else "acked",
                "offset": None if aborted else offset,
                "error": "aborted" if aborted else None,
                "transaction": transaction,
                "transaction_outcome": record_outcome,
            }
        )
        self.tables["log"].append(
            identity
            | {
                "topic": TOPIC,
                "partition": partition,
                "offset": offset,
                "key": key,
                "run_uid": "run-uid",
                "checksum_ok": True,
                "size": 200,
                "timestamp": self.now,
                "state": record_outcome or "plain",
            }
        )
        return partition

    def read(self, group: str) -> None:
        """Two members share the partitions; the first dies and the second takes over."""
        seen = [
            row
            for row in sorted(self.tables["log"], key=lambda row: row["timestamp"])
            if row["state"] != "aborted" or GROUPS[group] == "read_uncommitted"
        ]
        half = len(seen) // 2
        first = Member(self, group, 0)
        second = Member(self, group, 1)
        dying = [] if self.partitions == 1 else list(range(0, self.partitions, 2))
        for partition in range(self.partitions):
            owner = first if partition in dying else second
            owner.tell("assigned", T0 - SECOND, partition, 0)
        committed = dict.fromkeys(range(self.partitions), 0)
        for at in range(0, half, 40):
            for row in seen[at : min(at + 40, half)]:
                (first if row["partition"] in dying else second).get(row)
            if at + 40 < half:
                # What the dying member did not commit, the other gets again.
                for partition in range(self.partitions):
                    owner = first if partition in dying else second
                    committed[partition] = owner.commit(partition, committed[partition])
        moment = seen[half - 1]["timestamp"] + SECOND // 10
        self.deaths.append((first.incarnation, moment))
        for partition in dying:
            second.tell("assigned", moment + SECOND // 2, partition, committed[partition])
        again = [
            row
            for row in seen[:half]
            if row["partition"] in dying and row["offset"] >= committed[row["partition"]]
        ]
        for row in [*again, *seen[half:]]:
            second.get(row, at=max(row["timestamp"] + 12_000, moment + SECOND // 2 + 1))
        for partition in range(self.partitions):
            second.commit(partition, committed[partition])
            second.tell("drained", self.now + SECOND, partition, self.ends[partition])
            second.tell("revoked", self.now + 2 * SECOND, partition, None)

    def close(self) -> None:
        for producer, count in self.seqs.items():
            own = [row for row in self.tables["produce"] if row["producer"] == producer]
            failed = sum(row["outcome"] == "failed" for row in own)
            self.tables["producer_summary"].append(
                {
                    "producer": producer,
                    "producer_incarnation": f"uid-{producer}",
                    "attempted": count,
                    "acked": count - failed,
                    "failed": failed,
                    "unknown": 0,
                    "at": self.now + SECOND,
                }
            )
        for partition, end in self.ends.items():
            self.tables["log_end_offsets"].append(
                {
                    "topic": TOPIC,
                    "partition": partition,
                    "taken_at": self.now + SECOND,
                    "log_start": 0,
                    "high_watermark": end,
                    "last_stable": end,
                    "leader": 1,
                    "leader_epoch": 1,
                    "isr": list(BROKERS),
                    "settled": True,
                    "read_from": 0,
                    "read_to": end,
                    "rows_read": sum(row["partition"] == partition for row in self.tables["log"]),
                }
            )

        dump(self.tables, TOPIC, self.ends, BROKERS)

    def events(self) -> list[Any]:
        timeline = [event(-SECOND, "recorder", "started", "recorder")]
        timeline += [_state(-SECOND, partition, 0, 0, [0, 1, 2]) for partition in self.ends]
        # A clean election: the leader was in the ISR before.
        timeline += [
            _state(ELECTED, 0, 1, 0, [0, 1]),
            _state(ELECTED + SECOND, 0, 2, 1, [0, 1]),
            _state(ELECTED + 2 * SECOND, 0, 3, 1, [0, 1, 2]),
        ]
        timeline += [
            event(at - T0, "pod", "deleted", uid, uid=uid, component="consumer")
            for uid, at in self.deaths
        ]
        return timeline


@dataclass
class Member:
    """A consumer of a group, and what it keeps of itself."""

    run: Simulation
    group: str
    replica: int
    n: int = 0
    poll: int = 0
    position: dict[int, int] = field(default_factory=dict)

    @property
    def incarnation(self) -> str:
        return f"uid-{self.group}-{self.replica}"

    def tell(self, name: str, at: int, partition: int, offset: int | None) -> None:
        self.n += 1
        self.run.tables["consumer_events"].append(
            {
                "consumer": f"{self.group}-{self.replica}",
                "incarnation": self.incarnation,
                "group": self.group,
                "event_seq": self.n,
                "poll": None,
                "at": at,
                "mono": at - T0,
                "event": name,
                "topic": TOPIC,
                "partition": partition,
                "offset": offset,
                "generation": None,
                "member_id": None,
                "detail": None,
            }
        )

    def get(self, row: dict[str, Any], at: int | None = None) -> None:
        self.n += 1
        if self.run.chance.random() < 0.3:
            self.poll += 1
        handed = at or row["timestamp"] + 12_000
        who = ("topic", "partition", "offset", "run_uid", "producer", "producer_incarnation")
        self.run.tables["consume"].append(
            {name: row[name] for name in (*who, "seq")}
            | {
                "consumer": f"{self.group}-{self.replica}",
                "incarnation": self.incarnation,
                "group": self.group,
                "event_seq": self.n,
                "poll": self.poll,
                "poll_index": 0,
                "checksum_ok": True,
                "delivered_at": handed,
                "delivered_mono": handed - T0,
                "processed_at": handed,
                "outcome": "ok",
            }
        )
        self.position[row["partition"]] = row["offset"] + 1

    def commit(self, partition: int, before: int) -> int:
        position = self.position.get(partition, before)
        if position > before:
            at = self.run.tables["consume"][-1]["delivered_at"] + 1
            self.tell("committed", at, partition, position)
        return position


def _state(at: int, partition: int, version: int, epoch: int, isr: list[int]) -> Any:
    return event(
        at,
        "partition",
        "state",
        f"{TOPIC}-{partition}",
        leader=epoch,
        leader_epoch=epoch,
        isr=isr,
        controller_epoch=1,
        version=version,
        mtime=T0 + at,
    )
