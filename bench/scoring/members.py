"""The small tables of a generated history: members' events, closes, bounds and the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.scoring import history as shape
from bench.scoring.history import (
    BLOCK,
    CONSUMERS,
    EVEN,
    LENGTH,
    OFFSETS_PER_ROUND,
    OWNED,
    PARTITIONS,
    PLAIN,
    PRODUCERS,
    T0,
    TXN,
    Planted,
)
from krt_contract.timeline import Event, TimelineWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_contract.bundle import Bundle


def events(planted: Planted) -> Iterator[dict[str, Any]]:
    """Yield the events of each member: it is assigned, commits as it goes and drains."""
    per_block = BLOCK // CONSUMERS
    late = planted.end + 2 * shape.OUTAGE
    for partition in range(PARTITIONS):
        consumer, place = divmod(partition, OWNED)
        own = ("g", f"c-{consumer}", partition, PLAIN)
        uids = [shape.uid("c", 2 * consumer + number) for number in range(2)]
        yield _event(own, uids[0], 2 * place + 1, T0, "assigned", 0, 1)
        if consumer:
            at = planted.killed_at + shape.BACK
            offset = planted.committed * PRODUCERS
            yield _event(own, uids[1], 2 * place + 1, at, "assigned", offset, 2)
        first = (0, planted.committed)
        for number, block, at in planted.commits(consumer):
            # Behind the last delivery it covers, each partition's at a number of its own.
            n = 2 * (block - first[number]) * per_block + EVEN + 1 + 2 * place
            yield _event(own, uids[number], n, at, "committed", block * PRODUCERS, 1 + number)
        n = 2 * planted.blocks * per_block + EVEN + 101 + 2 * place
        end = planted.plain_end(partition)
        yield _event(own, uids[consumer], n, late, "drained", end, 1 + consumer)
    for partition in range(PARTITIONS):
        own = ("h", "d-0", partition, TXN)
        yield _event(own, shape.uid("d", 0), partition, T0, "assigned", 0, 1)
        n = 2 * planted.txn + EVEN + 101 + 2 * partition
        end = planted.rounds * OFFSETS_PER_ROUND
        yield _event(own, shape.uid("d", 0), n, late, "committed", end, 1)
        yield _event(own, shape.uid("d", 0), n + 100, late, "drained", end, 1)


def _event(  # noqa: PLR0913, PLR0917 (a row)
    own: tuple[str, str, int, str],
    incarnation: str,
    n: int,
    at: int,
    event: str,
    offset: int,
    generation: int,
) -> dict[str, Any]:
    group, consumer, partition, topic = own
    return {
        "consumer": consumer,
        "incarnation": incarnation,
        "group": group,
        "event_seq": n,
        "at": at,
        "mono": at - T0,
        "event": event,
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "generation": generation,
        "member_id": incarnation,
    }


def closes(planted: Planted) -> Iterator[dict[str, Any]]:
    """Yield the summary that each producer writes at its end."""
    for name, incarnation, number in shape.identities():
        plain = name.startswith("p")
        rounds = range(planted.rounds)
        attempted = planted.blocks * PARTITIONS if plain else planted.rounds * LENGTH
        unknown = len(planted.unknown_seqs(number)) if plain else 0
        failed = 0 if plain else LENGTH * sum(shape.aborted(number, found) for found in rounds)
        yield {
            "producer": name,
            "producer_incarnation": incarnation,
            "attempted": attempted,
            "acked": attempted - unknown - failed,
            "failed": failed,
            "unknown": unknown,
            "at": planted.end + 2 * shape.OUTAGE,
        }


def bounds(planted: Planted) -> Iterator[dict[str, Any]]:
    """Yield the settled bounds of each partition."""
    for topic in (PLAIN, TXN):
        for partition in range(PARTITIONS):
            if topic == TXN:
                # Of which a marker for each transaction is no record.
                end = planted.rounds * OFFSETS_PER_ROUND
                rows = planted.rounds * shape.ROUND // PARTITIONS
            else:
                end = planted.plain_end(partition)
                rows = end - (planted.lost if partition == shape.LOST_IN else 0)
            yield {
                "topic": topic,
                "partition": partition,
                "taken_at": planted.end + 2 * shape.OUTAGE,
                **dict.fromkeys(("high_watermark", "last_stable", "read_to"), end),
                "rows_read": rows,
                **dict.fromkeys(("log_start", "read_from", "leader", "leader_epoch"), 0),
                "isr": [0, 1, 2],
                "settled": True,
            }


def timeline(bundle: Bundle, planted: Planted) -> None:
    """Write what happened to the cluster and its clients."""
    begin, end = planted.outage
    killed, last = planted.killed_at, planted.end + 3 * shape.OUTAGE
    leader = [{"pod": "kafka-0-0", "uid": "k", "member": "kafka-0", "role": "PartitionLeader"}]
    gone = shape.uid("c", 2)
    member = [{"pod": "c-1", "uid": gone, "role": "Consumer"}]
    verified = {"verified": True, "observations": []}
    events = [
        Event(T0, 0, "recorder", "started", "recorder"),
        *pods(planted),
        _state(T0, 0, 0, [0, 1, 2], 0),
        _fault(begin, "injected", "leader-down", {"action": "CrashPod", "targets": leader}),
        _fault(begin, "observed", "leader-down", verified),
        _state(begin + shape.OUTAGE // 2, 1, 1, [1, 2], 1),
        _fault(end, "reverted", "leader-down"),
        _state(end + shape.OUTAGE // 3, 1, 1, [0, 1, 2], 2),
        _fault(end + shape.OUTAGE // 2, "recovered", "leader-down"),
        _fault(killed, "injected", "consumer-down", {"action": "CrashPod", "targets": member}),
        _fault(killed, "observed", "consumer-down", verified),
        Event(killed, 2, "pod", "exited", "c-1", {"uid": gone, "component": "consumer"}),
        _fault(killed + shape.BACK, "reverted", "consumer-down"),
        _fault(killed + 2 * shape.BACK, "recovered", "consumer-down"),
        Event(last, 4, "recorder", "stopped", "recorder"),
    ]
    writer = TimelineWriter(bundle.timeline, "events")
    for event in sorted(events, key=lambda item: item.at):
        writer.write(event)
    writer.close()


def pods(planted: Planted) -> Iterator[Event]:
    """Yield the start of each traffic pod."""
    for name, incarnation, _ in shape.identities():
        yield _running(T0, name, incarnation, "producer")
    back = planted.killed_at + shape.BACK
    for name, uid, at in (
        ("c-0", shape.uid("c", 0), T0),
        ("c-1", shape.uid("c", 2), T0),
        ("c-1", shape.uid("c", 3), back),
        ("d-0", shape.uid("d", 0), T0),
    ):
        yield _running(at, name, uid, "consumer")


def _running(at: int, name: str, uid: str, component: str) -> Event:
    return Event(at, 0, "pod", "running", name, {"uid": uid, "component": component})


def _fault(at: int, event: str, name: str, detail: dict[str, Any] | None = None) -> Event:
    return Event(at, 1, "fault", event, name, detail or {})


def _state(at: int, leader: int, epoch: int, isr: list[int], version: int) -> Event:
    detail = {"leader": leader, "leader_epoch": epoch, "isr": isr, "version": version}
    return Event(at, 1, "partition", "state", f"{PLAIN}-0", detail)
