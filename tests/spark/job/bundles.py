"""A small bundle of a correct Kafka: two producers, one group, one leader crash.

Time is simulated: a send every STEP µs by turns of producer and partition; while the leader of
partition 0 is gone its sends wait, everything else goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krt_contract.bundle import Bundle, write_json
from krt_contract.ledger import LedgerWriter
from krt_contract.schemas import ADDED, TABLES
from krt_contract.timeline import Event, TimelineWriter

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

T0 = 1_800_000_000_000_000
STEP = 2_000
ACK = 4_000
HANDED = 6_000
SECOND = 1_000_000
PARTITIONS = 3
PRODUCERS = (("a-0", "uid-a-0"), ("b-0", "uid-b-0"))
CONSUMER = ("c-0", "uid-c-0")
GROUP = "readers"


@dataclass
class Scenario:
    """What to simulate; times in µs from T0."""

    sends: int = 6_000
    stall: tuple[int, int] | None = (5 * SECOND, 7 * SECOND)
    reverted: int = 8 * SECOND
    recovered: int = 9 * SECOND
    objectives: dict[str, Any] = field(default_factory=dict)
    expect: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    replicas: bool = False
    readers: int = 1


def plan(scenario: Scenario) -> dict[str, Any]:
    faults = [{"name": "leader-down", "action": "CrashPod"}] if scenario.stall else []
    return {
        "schemaVersion": 2,
        "run": {"namespace": "ns", "name": "t", "uid": "run-uid", "seed": 42},
        "bundle": "ns/t/run-uid",
        "spec": {
            "traffic": {
                "producers": [
                    {
                        "name": name,
                        "topic": "foo",
                        "replicas": 1,
                        "acks": "all",
                        "enableIdempotence": name == "a",
                        "recordsPerSecond": 250,
                    }
                    for name in ("a", "b")
                ],
                "consumers": [
                    {
                        "name": "c",
                        "topics": ["foo"],
                        "group": GROUP,
                        "replicas": scenario.readers,
                        "commit": "AfterProcessing",
                        "isolation": "read_committed",
                    }
                ],
            },
            "faults": faults,
            "expect": scenario.expect,
            "scoring": {"objectives": scenario.objectives},
            "evidence": {"compareReplicas": scenario.replicas},
        },
        "topics": [
            {
                "name": "foo",
                "partitions": PARTITIONS,
                "replicationFactor": 3,
                "config": {},
                "assignment": {"0": [0, 1, 2], "1": [1, 2, 0], "2": [2, 0, 1]},
            }
        ],
        "members": [],
        "brokerConfig": {"min.insync.replicas": "2"},
    }


@dataclass
class Rows:
    """The tables as lists of rows, to be changed before they are written."""

    tables: dict[str, list[dict[str, Any]]]
    events: list[Event]


def simulate(scenario: Scenario) -> Rows:
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    seqs = {incarnation: 0 for _, incarnation in PRODUCERS}
    pending: list[tuple[int, int, int, dict[str, Any]]] = []
    for index in range(scenario.sends):
        producer, incarnation = PRODUCERS[index % 2]
        partition = (index // 2) % PARTITIONS
        at = T0 + index * STEP
        done = at + ACK
        if partition == 0 and scenario.stall:
            begin, end = (T0 + edge for edge in scenario.stall)
            # What is under way when the leader dies waits as well.
            if begin - ACK <= at < end:
                done = end + ACK
        row = {
            "producer": producer,
            "producer_incarnation": incarnation,
            "seq": seqs[incarnation],
            "topic": "foo",
            "partition": partition,
            "key": f"k{partition}",
            "scheduled_at": at,
            "sent_at": at + 100,
            "done_at": done,
            "sent_mono": at + 100 - T0,
            "done_mono": done - T0,
            "outcome": "acked",
            "offset": 0,
            "error": None,
            "transaction": None,
            "transaction_outcome": None,
        }
        seqs[incarnation] += 1
        pending.append((partition, done, index, row))
        tables["produce"].append(row)
    offsets = dict.fromkeys(range(PARTITIONS), 0)
    for partition, _, _, row in sorted(pending, key=lambda item: (item[0], item[1], item[2])):
        row["offset"] = offsets[partition]
        offsets[partition] += 1
    _log(tables)
    _deliveries(tables)
    _bounds(tables, offsets)
    if scenario.replicas:
        dump(tables, "foo", offsets, (0, 1, 2))
    for producer, incarnation in PRODUCERS if scenario.sends else ():
        own = [row for row in tables["produce"] if row["producer"] == producer]
        tables["producer_summary"].append(
            {
                "producer": producer,
                "producer_incarnation": incarnation,
                "attempted": len(own),
                "acked": len(own),
                "failed": 0,
                "unknown": 0,
                "at": max(row["done_at"] for row in own),
            }
        )
    return Rows(tables, [*_events(scenario), *scenario.events])


def _log(tables: dict[str, list[dict[str, Any]]]) -> None:
    for row in sorted(tables["produce"], key=lambda row: (row["partition"], row["offset"])):
        tables["log"].append(
            {
                "topic": "foo",
                "partition": row["partition"],
                "offset": row["offset"],
                "key": row["key"],
                "run_uid": "run-uid",
                "producer": row["producer"],
                "producer_incarnation": row["producer_incarnation"],
                "seq": row["seq"],
                "checksum_ok": True,
                "size": 200,
                "timestamp": row["sent_at"] // 1000 * 1000,
                "state": "plain",
            }
        )


def _deliveries(tables: dict[str, list[dict[str, Any]]]) -> None:
    consumer, incarnation = CONSUMER
    n = 0
    for partition in range(PARTITIONS):
        tables["consumer_events"].append(member_event(n, T0, "assigned", partition, 0))
        n += 1
    ordered = sorted(tables["produce"], key=lambda row: (row["done_at"], row["offset"]))
    for poll, row in enumerate(ordered):
        tables["consume"].append(
            {
                "consumer": consumer,
                "incarnation": incarnation,
                "group": GROUP,
                "event_seq": n,
                "poll": poll,
                "poll_index": 0,
                "topic": "foo",
                "partition": row["partition"],
                "offset": row["offset"],
                "run_uid": "run-uid",
                "producer": row["producer"],
                "producer_incarnation": row["producer_incarnation"],
                "seq": row["seq"],
                "checksum_ok": True,
                "delivered_at": row["done_at"] + HANDED,
                "delivered_mono": row["done_at"] + HANDED - T0,
                "processed_at": row["done_at"] + HANDED,
                "outcome": "ok",
            }
        )
        n += 1
    at = max((row["delivered_at"] for row in tables["consume"]), default=T0) + HANDED
    for partition in range(PARTITIONS):
        end = sum(row["partition"] == partition for row in ordered)
        tables["consumer_events"].append(member_event(n, at, "drained", partition, end))
        n += 1
    tables["consumer_events"].append(member_event(n, at, "closed", None, None))


def member_event(
    n: int, at: int, event: str, partition: int | None, offset: int | None
) -> dict[str, Any]:
    """Return an event of the one consumer."""
    consumer, incarnation = CONSUMER
    return {
        "consumer": consumer,
        "incarnation": incarnation,
        "group": GROUP,
        "event_seq": n,
        "poll": None,
        "at": at,
        "mono": at - T0,
        "event": event,
        "topic": None if partition is None else "foo",
        "partition": partition,
        "offset": offset,
        "generation": 1,
        "member_id": "m-1",
        "detail": None,
    }


def _bounds(tables: dict[str, list[dict[str, Any]]], offsets: dict[int, int]) -> None:
    for partition, end in offsets.items():
        tables["log_end_offsets"].append(
            {
                "topic": "foo",
                "partition": partition,
                "taken_at": T0,
                "log_start": 0,
                "high_watermark": end,
                "last_stable": end,
                "leader": 1,
                "leader_epoch": 1,
                "isr": [0, 1, 2],
                "settled": True,
                "read_from": 0,
                "read_to": end,
                "rows_read": end,
            }
        )


def dump(
    tables: dict[str, list[dict[str, Any]]],
    topic: str,
    ends: dict[int, int],
    brokers: Iterable[int],
) -> None:
    """What brokers hold: all of the log, markers in between, each in a batch of its own."""
    held = {(row["partition"], row["offset"]): row for row in tables["log"]}
    blank = dict.fromkeys(("run_uid", "producer", "producer_incarnation", "seq"))
    for broker in brokers:
        for partition, end in ends.items():
            whose = {"broker": broker, "topic": topic, "partition": partition}
            for offset in range(end):
                row = held.get((partition, offset), blank)
                batch = {"batch": offset, "batch_last": offset, "size": 200, "crc": offset * 7}
                tables["replica_log"].append(
                    whose
                    | batch
                    | {name: row[name] for name in blank}
                    | {"offset": offset, "leader_epoch": 0, "valid": True}
                    | {"control": "commit" if row is blank else None}
                )
            bounds = {"log_start": 0, "log_end": end, "rows": end, "problem": None}
            tables["replica_bounds"].append(whose | bounds | {"taken_at": T0})


def event(at: int, source: str, name: str, subject: str, **detail: Any) -> Event:
    return Event(T0 + at, at, source, name, subject, detail)


def _state(  # noqa: PLR0913, PLR0917 - what a state has
    at: int, partition: int, epoch: int, leader: int, isr: list[int], version: int = 0
) -> Event:
    return event(
        at,
        "partition",
        "state",
        f"foo-{partition}",
        leader=leader,
        leader_epoch=epoch,
        isr=isr,
        controller_epoch=1,
        version=version or epoch,
        mtime=T0 + at,
    )


def _events(scenario: Scenario) -> list[Event]:
    events = [event(-SECOND, "recorder", "started", "recorder")]
    events += [_state(-SECOND, p, 0, p, [0, 1, 2]) for p in range(PARTITIONS)]
    end = scenario.sends * STEP + SECOND
    for component, (_, uid) in (
        *(("producer", item) for item in PRODUCERS),
        ("consumer", CONSUMER),
    ):
        who: dict[str, Any] = {"uid": uid, "component": component}
        ended = {"exitCode": 0, "message": "{}"}
        events.append(event(-SECOND, "pod", "added", f"t-{uid}", **who))
        events.append(event(end, "pod", "exited", f"t-{uid}", **who, **ended))
    for at, phase in ((0, "Warmup"), (4, "Injecting"), (10, "Draining")):
        events.append(event(at * SECOND, "phase", "entered", phase))
    if scenario.stall:
        begin, end = scenario.stall
        targets = [{"pod": "t-kafka-0-0", "uid": "uid-kafka-0", "member": "kafka-0", "role": "x"}]
        observations = [{"kind": "ProcessKilled", "subject": "t-kafka-0-0", "at": T0 + begin}]
        events += [
            event(begin, "fault", "injected", "leader-down", action="CrashPod", targets=targets),
            event(
                begin, "fault", "observed", "leader-down", verified=True, observations=observations
            ),
            event(end - SECOND, "broker", "unregistered", "0"),
            _state(end - SECOND // 2, 0, 1, 1, [1, 2]),
            event(scenario.reverted, "fault", "reverted", "leader-down"),
            _state(scenario.recovered - SECOND // 2, 0, 1, 1, [0, 1, 2], version=2),
            event(scenario.recovered, "fault", "recovered", "leader-down"),
        ]
    events.append(event(end, "recorder", "stopped", "recorder"))
    return events


def write(root: Path, rows: Rows, document: dict[str, Any], files: int = 3) -> Path:
    """Write a bundle, each table cut into ``files`` files a writer."""
    bundle = Bundle(root / "ns" / "t" / "run-uid")
    write_json(bundle.run_json, document)
    for table, schema in TABLES.items():
        keys = {"produce": "producer_incarnation", "producer_summary": "producer_incarnation"}
        key = keys.get(table, "incarnation" if "incarnation" in schema.names else None)
        writers: dict[str, list[dict[str, Any]]] = {}
        for row in rows.tables[table]:
            writers.setdefault(str(row[key]) if key else "scoring", []).append(row)
        for stem, own in writers.items():
            writer = LedgerWriter(bundle.table(table), table, stem)
            size = max(1, -(-len(own) // files))
            for start in range(0, len(own), size):
                part = own[start : start + size]
                columns = set(schema.names) - ADDED.get(table, frozenset())
                writer.write({name: [row[name] for row in part] for name in columns})
    timeline = TimelineWriter(bundle.timeline, "events")
    for item in rows.events:
        timeline.write(item)
    timeline.close()
    return bundle.root


def make(root: Path, scenario: Scenario | None = None) -> Path:
    """Write the bundle of a scenario as it is."""
    scenario = scenario or Scenario()
    return write(root, simulate(scenario), plan(scenario))


def read_card(path: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads(path.read_text())
    return card
