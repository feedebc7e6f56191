"""The evidence that histories leave: the tables, timeline and plan of one bundle.

Several histories make one run: each has a topic, brokers, producers and consumers of its own, so
nothing of one can touch another; only groups of equal settings share a name, as members of one
group may subscribe to different topics. One scoring then judges them all.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from tests.spark.model.run_json import RUN, group_name, plan
from tests.spark.model.scenario import DRAIN

from krt_contract.bundle import Bundle, write_json
from krt_contract.ledger import LedgerWriter
from krt_contract.schemas import ADDED, TABLES
from krt_contract.timeline import Event, TimelineWriter
from krt_scoring.history.elections import STORAGE_LOSING_ACTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.spark.model.consumer import Consumer
    from tests.spark.model.log import Entry, Record
    from tests.spark.model.producer import Producer
    from tests.spark.model.world import World

T0 = 1_800_000_000_000_000
Rows = dict[str, list[dict[str, Any]]]


def write(root: Path, named: dict[str, World]) -> Path:
    """Write a bundle of histories by their names below ``root``, and return where it lies."""
    bundle = Bundle(root / "model" / "histories" / RUN)
    write_json(bundle.run_json, plan(named))
    tables: Rows = {name: [] for name in TABLES}
    for number, (name, world) in enumerate(named.items()):
        _produce(name, world, tables)
        _consume(name, world, tables)
        _log(name, world, tables, number)
        _replicas(name, world, tables, number)
    for table, schema in TABLES.items():
        key = {"produce": "producer_incarnation", "producer_summary": "producer_incarnation"}.get(
            table, "incarnation" if "incarnation" in schema.names else ""
        )
        parts: dict[str, list[dict[str, Any]]] = {}
        for row in tables[table]:
            parts.setdefault(str(row[key]) if key else "scoring", []).append(row)
        if len(named) > 1:
            # A few large files for many histories; those of one are its writers', as in a run.
            parts = {"model": [row for part in parts.values() for row in part]}
        # The model has no consumers that produce, whose columns came later and stay null.
        told = [name for name in schema.names if name not in ADDED.get(table, ())]
        for stem, rows in parts.items():
            columns = {name: [row[name] for row in rows] for name in told}
            LedgerWriter(bundle.table(table), table, stem).write(columns)
    writer = TimelineWriter(bundle.timeline, "model")
    for event in sorted(timeline(named), key=lambda item: (item.at, item.line())):
        writer.write(event)
    writer.close()
    return bundle.root


def broker_id(number: int, broker: int) -> int:
    """Return the id of a broker of the ``number``-th history of a bundle; -1 stays -1."""
    return broker if broker < 0 else number * 10 + broker


def timeline(named: dict[str, World]) -> list[Event]:
    """Return what the recorder would have seen.

    Of many histories only the faults that take storage are told, which the rules look up by
    member: any other would seem to befall all of the histories together.
    """
    events = [Event(T0, 0, "recorder", "started", "recorder")]
    for number, (name, world) in enumerate(named.items()):
        told = _storage_lost(world) if len(named) > 1 else None
        for at, source, event, subject, detail in world.told:
            if source == "fault" and told is not None and subject not in told:
                continue
            seen = dict(detail)
            if "uid" in seen:
                seen["uid"] = f"{name}-{seen['uid']}"
            if source == "partition":
                subject = f"{name}-{subject}"  # noqa: PLW2901 - the same thing's full name
                seen["leader"] = broker_id(number, seen["leader"])
                seen["isr"] = [broker_id(number, broker) for broker in seen["isr"]]
                seen["mtime"] = T0 + at
            elif source == "fault":
                subject = f"{name}-{subject}"  # noqa: PLW2901 - as above
                if "targets" in seen:
                    seen["targets"] = [_target(name, number, item) for item in seen["targets"]]
            elif source == "member" and subject.startswith("kafka-"):
                seen["member"] = f"kafka-{broker_id(number, int(subject[6:]))}"
            events.append(Event(T0 + at, at, source, event, subject, seen))
    events.append(Event(T0 + DRAIN, DRAIN, "recorder", "stopped", "recorder"))
    return events


def _storage_lost(world: World) -> set[str]:
    """Return the names of the faults that took a volume."""
    return {
        subject
        for _, source, _, subject, detail in world.told
        if source == "fault" and detail.get("action") in STORAGE_LOSING_ACTIONS
    }


def _target(name: str, number: int, target: dict[str, str]) -> dict[str, str]:
    """Return what a fault hit by its full name: a pod, or a broker of the history's own."""
    seen = target | {"uid": f"{name}-{target['uid']}"}
    if seen.get("member", "").startswith("kafka-"):
        seen["member"] = f"kafka-{broker_id(number, int(seen['member'][6:]))}"
    return seen


def _identity(name: str, record: Record) -> dict[str, Any]:
    return {
        "producer": f"{name}-{record.producer}",
        "producer_incarnation": f"{name}-{record.incarnation}",
        "seq": record.seq,
    }


def _produce(name: str, world: World, tables: Rows) -> None:
    for producer in world.producers:
        tables["produce"] += [
            {
                **_identity(name, row["record"]),
                "topic": name,
                "partition": row["record"].partition,
                "key": row["record"].key,
                "scheduled_at": T0 + row["due"],
                "sent_at": T0 + row["sent"],
                "done_at": T0 + row["done"],
                "sent_mono": row["sent"],
                "done_mono": row["done"],
                "outcome": row["outcome"],
                "offset": row["offset"],
                "error": row["error"],
                "transaction": row["record"].transaction,
                "transaction_outcome": row["fate"],
            }
            for row in producer.rows.values()
        ]
        if producer.closed_at:
            tables["producer_summary"].append(_close(name, producer))


def _close(name: str, producer: Producer) -> dict[str, Any]:
    outcomes = [send.outcome for send in producer.sends]
    return {
        "producer": f"{name}-{producer.plan.name}-0",
        "producer_incarnation": f"{name}-{producer.incarnation}",
        "attempted": len(outcomes),
        **{name: outcomes.count(name) for name in ("acked", "failed", "unknown")},
        "at": T0 + producer.closed_at,
    }


def _member(name: str, consumer: Consumer) -> dict[str, Any]:
    return {
        "consumer": f"{name}-{consumer.name}",
        "incarnation": f"{name}-{consumer.incarnation}",
        "group": group_name(consumer.group),
    }


def _consume(name: str, world: World, tables: Rows) -> None:
    for consumer in world.consumers:
        tables["consume"] += [
            {
                **_member(name, consumer),
                **{
                    key: row[key]
                    for key in ("event_seq", "poll", "poll_index", "partition", "offset")
                },
                "topic": name,
                "run_uid": RUN,
                **_identity(name, row["record"]),
                "checksum_ok": row["whole"],
                "delivered_at": T0 + row["at"],
                "delivered_mono": row["at"],
                "processed_at": T0 + row["at"],
                "outcome": "ok",
            }
            for row in consumer.deliveries
        ]
        tables["consumer_events"] += [
            {
                **_member(name, consumer),
                "event_seq": row["event_seq"],
                "poll": None,
                "at": T0 + row["at"],
                "mono": row["at"],
                "event": row["event"],
                "topic": None if row["partition"] is None else name,
                "partition": row["partition"],
                "offset": row["offset"],
                "generation": None,
                "member_id": row["member_id"],
                "detail": None,
            }
            for row in consumer.events
        ]


def _log(name: str, world: World, tables: Rows, number: int) -> None:
    for partition in world.cluster.partitions:
        log = world.log(partition.number)
        held = [(entry, entry.record) for entry in log.entries if entry.record is not None]
        tables["log"] += [
            {
                "topic": name,
                "partition": partition.number,
                "offset": entry.offset,
                "key": record.key,
                "run_uid": RUN,
                **_identity(name, record),
                "checksum_ok": entry.whole,
                "size": 200,
                "timestamp": T0 + entry.at,
                "state": log.state(entry),
            }
            for entry, record in held
        ]
        tables["log_end_offsets"].append(
            {
                "topic": name,
                "partition": partition.number,
                "taken_at": T0 + DRAIN,
                "log_start": 0,
                "high_watermark": log.end,
                "last_stable": log.end,
                "leader": broker_id(number, partition.leader),
                "leader_epoch": partition.epoch,
                "isr": [broker_id(number, broker) for broker in partition.isr],
                "settled": True,
                "read_from": 0,
                "read_to": log.end,
                "rows_read": len(held),
            }
        )


def _replicas(name: str, world: World, tables: Rows, number: int) -> None:
    """What every broker holds, each offset in a batch of its own."""
    nobody = {"producer": None, "producer_incarnation": None, "seq": None}
    for partition in world.cluster.partitions:
        for broker, replica in partition.replicas.items():
            same = {
                "broker": broker_id(number, broker),
                "topic": name,
                "partition": partition.number,
            }
            tables["replica_log"] += [
                {
                    **same,
                    **(_identity(name, entry.record) if entry.record else nobody),
                    "offset": entry.offset,
                    "leader_epoch": entry.epoch,
                    "batch": entry.offset,
                    "batch_last": entry.offset,
                    "size": 200,
                    "crc": _bytes(entry),
                    "valid": True,
                    "control": entry.marker and ("commit", "abort")[entry.marker == "aborted"],
                    "run_uid": RUN if entry.record else None,
                }
                for entry in replica.log.entries
            ]
            tables["replica_bounds"].append(
                {
                    **same,
                    "taken_at": T0 + DRAIN,
                    "log_start": 0,
                    "log_end": replica.log.end,
                    "rows": replica.log.end,
                    "problem": None,
                }
            )


def _bytes(entry: Entry) -> int:
    """A checksum of what an entry says, whichever replica holds it."""
    content = (entry.record, entry.pid, entry.pepoch, entry.number, entry.marker, entry.whole)
    return zlib.crc32(repr(content).encode())
