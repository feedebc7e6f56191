"""What really happened in a world, for whoever has to say what a defect must be found to have done.

These are counts over one history in plain Python, written from the definitions of the anomalies,
not from the rules that look for them.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.spark.model.cluster import SESSION
from tests.spark.model.engine import SECOND
from tests.spark.model.partition import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from tests.spark.model.consumer import Consumer
    from tests.spark.model.group import Group
    from tests.spark.model.log import Record
    from tests.spark.model.world import World


def rows(world: World, group: Group | None = None) -> Iterator[tuple[Consumer, dict[str, object]]]:
    """Yield every delivery in a ledger, with who got it."""
    for consumer in world.consumers:
        if group is None or consumer.group is group:
            for row in consumer.deliveries:
                yield consumer, row


def delivered(world: World) -> set[Record]:
    """Return the records in any delivery."""
    return {row["record"] for _, row in rows(world)}  # type: ignore[misc]


def present(world: World) -> set[Record]:
    """Return the records in the settled log that are not aborted."""
    found = set()
    for number in range(world.scenario.partitions):
        log = world.log(number)
        found |= {
            entry.record for entry in log.entries if entry.record and log.state(entry) != "aborted"
        }
    return found


def places(world: World, record: Record) -> list[tuple[int, int]]:
    """Return the partitions and offsets at which a record lies in the settled log."""
    return [
        (number, entry.offset)
        for number in range(world.scenario.partitions)
        for entry in world.log(number).entries
        if entry.record == record
    ]


def misplaced(world: World) -> int:
    """Return the deliveries of records that a log holds, only not where they came from."""
    lying: dict[tuple[object, object], Record] = {
        (number, entry.offset): entry.record
        for number in range(world.scenario.partitions)
        for entry in world.log(number).entries
        if entry.record
    }
    logged = set(lying.values())
    return sum(
        row["record"] in logged and lying.get((row["partition"], row["offset"])) != row["record"]
        for _, row in rows(world)
    )


def acked(world: World) -> set[Record]:
    """Return the records whose producers' ledgers call them acked."""
    return {
        row["record"]
        for producer in world.producers
        for row in producer.rows.values()
        if row["outcome"] == "acked"
    }


def contradictions(world: World) -> list[set[Record]]:
    """Return what acks, deliveries and the log say of offsets of which they do not say the same."""
    claimed: dict[tuple[int, int], set[Record]] = {}
    for producer in world.producers:
        for row in producer.rows.values():
            if row["outcome"] == "acked" and row["offset"] is not None:
                place = row["record"].partition, row["offset"]
                claimed.setdefault(place, set()).add(row["record"])
    for _, got in rows(world):
        claimed.setdefault((got["partition"], got["offset"]), set()).add(got["record"])  # type: ignore[arg-type]
    for number in range(world.scenario.partitions):
        for entry in world.log(number).entries:
            if entry.record:
                claimed.setdefault((number, entry.offset), set()).add(entry.record)
    return [records for records in claimed.values() if len(records) > 1]


def sent_with(world: World, acks: str) -> set[Record]:
    """Return the records of producers with a setting of acks."""
    return {
        row["record"]
        for producer in world.producers
        if producer.plan.acks == acks
        for row in producer.rows.values()
    }


def expired(world: World, incarnation: str, seq: int) -> bool:
    """Whether another message of its producer expired while a send was in flight."""
    for producer in world.producers:
        if producer.incarnation == incarnation:
            own = producer.rows.get(seq)
            return any(
                row["error"] == "_MSG_TIMED_OUT"
                and (own is None or own["sent"] <= row["done"] <= own["done"])
                for number, row in producer.rows.items()
                if number != seq
            )
    return False


def acked_below_minimum(world: World) -> int:
    """Return the acks=all sends begun and acked while every leader knew of too small an ISR."""
    found = 0
    for number in range(world.scenario.partitions):
        rows_there = [
            row
            for producer in world.producers
            if producer.plan.acks == "all"
            for row in producer.rows.values()
            if row["record"].partition == number and row["outcome"] == "acked"
        ]
        found += sum(
            known <= row["sent"] and row["done"] <= end
            for known, end in short_spans(world, number)
            for row in rows_there
        )
    return found


def short_spans(world: World, number: int) -> list[tuple[float, float]]:
    """Return from when on every leader knew that a partition's ISR was too small, and until when.

    A leader that stays hears of it within a second, one that was deposed within its session, and
    one that was frozen only after its thaw.
    """
    found: list[tuple[float, float]] = []
    known, deposed, leader = math.inf, 0.0, NO_LEADER
    short = False
    for at, source, _, subject, detail in world.told:
        if source != "partition" or subject != str(number):
            continue
        if leader not in (NO_LEADER, detail["leader"]):
            deposed = max(deposed, goes_on(world, leader, at) + SESSION)
        leader, was_short = detail["leader"], short
        short = len(detail["isr"]) < world.scenario.min_insync
        if short and not was_short:
            known = max(goes_on(world, leader, at) + SECOND, deposed)
        elif short and at < known:
            known = max(known, deposed)
        elif was_short and not short:
            found.append((known, at))
    return [*found, (known, math.inf)] if short else found


def goes_on(world: World, broker: int, at: int) -> float:
    """Return when a broker is no longer frozen: the time itself where it is not."""
    stopped = False
    for moment, source, event, subject, _ in world.told:
        if (source, subject) != ("member", f"kafka-{broker}"):
            continue
        if event == "frozen" and moment <= at:
            stopped = True
        elif event == "thawed" and stopped:
            stopped = False
            if moment > at:
                return moment
    return math.inf if stopped else at


def repeats(world: World, among: Container[tuple[str, int, int]] | None = None) -> int:
    """Return the deliveries beyond the first of an offset to a group.

    Args:
        world: the history.
        among: the places that count, each a group, a partition and an offset; None for all.
    """
    places = [
        (consumer.group.plan.name, row["partition"], row["offset"]) for consumer, row in rows(world)
    ]
    counted = [place for place in places if among is None or place in among]
    return len(counted) - len(set(counted))


def inversions(world: World) -> int:
    """Return how often the log has two sends of an idempotent producer in the wrong order.

    A broker that knows nothing of a producer takes any sequence number, as Kafka's does: where the
    first of several requests on their way is refused, the next one may be taken.
    """
    found = 0
    for number in range(world.scenario.partitions):
        first: dict[tuple[str, int], int] = {}
        for entry in world.log(number).entries:
            if entry.record and entry.pid:
                first.setdefault((entry.record.incarnation, entry.record.seq), entry.offset)
        ordered = sorted(first)
        found += sum(
            one[0] == other[0] and first[other] < first[one] for one, other in pairwise(ordered)
        )
    return found


def rewinds(world: World) -> int:
    """Return the ownerships that begin below what a member had been told is committed."""
    commits = [
        (consumer.group, event["partition"], event["at"], event["offset"])
        for consumer in world.consumers
        for event in consumer.events
        if event["event"] == "committed"
    ]
    found = 0
    for consumer in world.consumers:
        for begin in (event for event in consumer.events if event["event"] == "assigned"):
            place = consumer.group, begin["partition"]
            found += any(
                (group, partition) == place and at <= begin["at"] and offset > begin["offset"]
                for group, partition, at, offset in commits
            )
    return found


def commits_above(world: World, group: Group, partition: int, offset: int) -> int:
    """Return the commits of a group in the ledgers that lie above an offset."""
    return sum(
        event["event"] == "committed"
        and event["partition"] == partition
        and event["offset"] > offset
        for consumer in world.consumers
        if consumer.group is group
        for event in consumer.events
    )


def both_own(world: World, old: Consumer, patience: int) -> int:
    """Return the later ownerships of others during which a member goes on for too long.

    Args:
        world: what happened.
        old: a member that was never told that it owns nothing any more.
        patience: µs after the assignment of the newer owner in which it may.
    """
    found = 0
    for number in range(world.scenario.partitions):
        last = _last_act(old, number, 0, len(old.deliveries) + len(old.events) + 1)
        mine = min(
            (event["at"] for event in old.events if event["event"] == "assigned"), default=last
        )
        for other in world.consumers:
            if other.group is not old.group or other is old:
                continue
            for begin, first, end in _ownerships(other, number):
                late = begin + patience
                if begin > mine and last > late and _last_act(other, number, first, end) > late:
                    found += 1
    return found


def _ownerships(consumer: Consumer, number: int) -> Iterator[tuple[int, int, int]]:
    """Yield (begin in µs, first n, last n) of every ownership of a partition."""
    ends = ("assigned", "revoked", "lost")
    turns = [
        event
        for event in consumer.events
        if (event["event"] in ends and event["partition"] == number) or event["event"] == "closed"
    ]
    for place, event in enumerate(turns):
        if event["event"] == "assigned":
            after = turns[place + 1]["event_seq"] if place + 1 < len(turns) else 1 << 40
            yield event["at"], event["event_seq"], after


def _last_act(consumer: Consumer, number: int, first: int, end: int) -> int:
    """Return when it last handed out or committed anything of a partition, between two n."""
    acts = [*consumer.deliveries, *(e for e in consumer.events if e["event"] == "committed")]
    return max(
        (
            act["at"]
            for act in acts
            if act["partition"] == number and first <= act["event_seq"] < end
        ),
        default=0,
    )


def apart(world: World) -> int:
    """Return the offsets at which the replicas in sync do not all hold the same."""
    count = 0
    for partition in world.cluster.partitions:
        logs = [partition.replicas[broker].log.entries for broker in partition.isr]
        for offset in range(world.log(partition.number).end):
            held = [log[offset] if offset < len(log) else None for log in logs]
            count += any(entry is not held[0] for entry in held)
    return count
