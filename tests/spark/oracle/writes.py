"""The rules of writes: order of sends, own writes, small ISRs, and what replicas hold.

docs/concepts/anomalies.md, the table; allowances.md, "Clocks"; docs/concepts/replicas.md.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.spark.oracle.elections import acked_place, acknowledged_until, polled, states
from tests.spark.oracle.history import CLOCKS, ZOOKEEPER_SESSION, Finding, place_of
from tests.spark.oracle.ownership import FOREVER
from tests.spark.oracle.presence import in_unread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.spark.oracle.history import History, Place, Record, Row

    from krt_contract.timeline import Event


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
        answered = max(send["sent_at"], send["done_at"])
        if any(
            known <= send["sent_at"] and answered <= end
            for known, end in short_times(history, seen, smallest)
        ):
            found.append(
                Finding(
                    "accepted-below-min-isr",
                    None,
                    send["partition"],
                    incarnation=send["producer_incarnation"],
                )
            )
    return found


def short_times(
    history: History, seen: list[Event], smallest: int
) -> Iterator[tuple[float, float]]:
    """Yield from when on every leader knew that the ISR was too small, and until when it was."""
    # Each holds until the next one in ZooKeeper's order.
    ends: list[float] = [*(state.at for state in seen), FOREVER][1:]
    runs = itertools.groupby(
        range(len(seen)), key=lambda number: len(seen[number].detail["isr"]) < smallest
    )
    for short, numbers in runs:
        if not short:
            continue
        first, *later = numbers
        leader = seen[first].detail["leader"]
        known = acknowledged_until(history, leader, seen[first].at, CLOCKS)
        known = max([known, *deposed_until(history, seen[: first + 1])])
        for number in later:
            # Who was deposed after it knew refuses all the same.
            if seen[number].at < known:
                known = max([known, *deposed_until(history, seen[: number + 1])])
        yield known, ends[later[-1] if later else first]


def deposed_until(history: History, seen: list[Event]) -> list[float]:
    """Return until when each leader that was deposed may not have heard of it."""
    return [
        acknowledged_until(history, before.detail["leader"], state.at, ZOOKEEPER_SESSION)
        for before, state in itertools.pairwise(seen)
        if before.detail["leader"] not in (-1, state.detail["leader"])
    ]


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
