"""The rules of writes: order of sends, own writes, small ISRs, and what replicas hold.

docs/concepts/anomalies.md, the table; allowances.md, "Clocks"; docs/concepts/replicas.md.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.spark.oracle.elections import acked_place, polled, states
from tests.spark.oracle.history import CLOCKS, Finding, place_of
from tests.spark.oracle.ownership import FOREVER
from tests.spark.oracle.presence import in_unread

if TYPE_CHECKING:
    from tests.spark.oracle.history import History, Place, Record, Row


def first_place(history: History, record: Record) -> Place | None:
    """Return the first place of a record; of a log that was not read, as deliveries tell it."""
    if record.log or not in_unread(history, record):
        return min((place_of(row) for row in record.log), default=None)
    return min((place_of(row) for row in record.ok), default=acked_place(history, record))


def nonmonotonic_send(history: History) -> list[Finding]:
    """Find neighbours among the sends to a partition that lie in the log in reverse order."""
    found: list[Finding] = []
    incarnations = sorted({record.identity[:2] for record in history.records})
    for producer, incarnation in incarnations:
        for partition in history.partitions:
            of_incarnation = sorted(
                (record for record in history.records if record.identity[1] == incarnation),
                key=lambda record: record.identity[2],
            )
            known = [
                (record, place)
                for record in of_incarnation
                if (place := first_place(history, record)) is not None and place[0] == partition
            ]
            for (one, lower), (other, upper) in itertools.pairwise(known):
                if upper >= lower:
                    continue
                inside = (
                    one.send is not None
                    and other.send is not None
                    and one.send["transaction"] is not None
                    and one.send["transaction"] == other.send["transaction"]
                )
                free = (
                    not history.idempotent(producer)
                    and history.retries(producer)
                    and history.in_flight(producer) > 1
                )
                found.append(
                    Finding(
                        "int-nonmonotonic-send" if inside else "nonmonotonic-send",
                        "retries-without-idempotence" if free else None,
                        partition,
                        incarnation=incarnation,
                    )
                )
    return found


def precommitted_read(history: History) -> list[Finding]:
    """Find writes of a transaction that their own pod reads before it has ended."""
    found: list[Finding] = []
    committed_only = {group.name for group in history.groups if group.committed_only}
    for record in history.records:
        send = record.send
        if send is None or send["transaction"] is None:
            continue
        last = max(
            row["sent_at"]
            for row in history.sends
            if row["producer_incarnation"] == send["producer_incarnation"]
            and row["transaction"] == send["transaction"]
        )
        rows = [
            row
            for row in record.ok
            if row["incarnation"] == send["producer_incarnation"]
            and row["group"] in committed_only
            and row["delivered_at"] < last
        ]
        if rows:
            found.append(
                Finding(
                    "precommitted-read",
                    None,
                    rows[0]["partition"],
                    rows[0]["group"],
                    record.identity[1],
                )
            )
    return found


def accepted_below_min_isr(history: History) -> list[Finding]:
    """Find acks=all sends that were acknowledged while the ISR was too small."""
    found: list[Finding] = []
    for send in history.sends:
        if send["outcome"] != "acked" or history.acks(send["producer"]) != "all":
            continue
        if send["partition"] is None:
            continue
        smallest = int(history.topic(send["partition"]).get("min.insync.replicas", 1))
        seen = states(history, history.case.subject(send["partition"]))
        if any(polled(state) for state in seen):
            continue  # an ISR may have grown and shrunk again between two polls
        # Each holds until the next one in ZooKeeper's order.
        ends = [*(state.at for state in seen), FOREVER][1:]
        since = send["sent_at"] - CLOCKS
        until = max(send["sent_at"], send["done_at"])
        held = [(state, end) for state, end in zip(seen, ends, strict=False) if state.at < end]
        known = any(state.at <= since < end for state, end in held)
        observed = [state for state, end in held if state.at < until and since < end]
        if known and all(len(state.detail["isr"]) < smallest for state in observed):
            found.append(
                Finding(
                    "accepted-below-min-isr",
                    None,
                    send["partition"],
                    incarnation=send["producer_incarnation"],
                )
            )
    return found


def replica_divergence(history: History) -> list[Finding]:
    """Find offsets below a settled high watermark at which replicas in sync differ."""
    found: list[Finding] = []
    for partition, bounds in history.bounds.items():
        if not history.settled(partition):
            continue
        in_sync = set(bounds["isr"])
        seen = states(history, history.case.subject(partition))
        if seen:
            in_sync &= set(seen[-1].detail["isr"])
        dumps = {
            row["broker"]: row
            for row in history.replica_bounds
            if row["partition"] == partition and row["broker"] in in_sync
        }
        rows = [
            row
            for row in history.replicas
            if row["partition"] == partition and row["broker"] in dumps
        ]
        for offset in sorted({row["offset"] for row in rows}):
            if not bounds["log_start"] <= offset < bounds["high_watermark"]:
                continue
            held = {row["broker"]: row for row in rows if row["offset"] == offset}
            lacking = [
                broker
                for broker, dump in dumps.items()
                if broker not in held and dump["problem"] is None
            ]
            if lacking or len({contents(row) for row in held.values()}) > 1:
                found.append(Finding("replica-divergence", None, partition))
    return found


def contents(row: Row) -> tuple[object, ...]:
    """Return what replicas must agree on."""
    names = ("leader_epoch", "batch", "batch_last", "size", "crc", "valid")
    return tuple(row[name] for name in names)
