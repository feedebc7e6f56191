"""Elections, the first offset that one can have cut, and the losses that they permit.

docs/reference/allowances.md: the rules of losses, and "The first offset that an election can have
cut".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.spark.oracle.history import ZOOKEEPER_SESSION, identity_of

if TYPE_CHECKING:
    from tests.spark.oracle.history import History, Place, Record

    from krt_contract.timeline import Event

LOSES_ANYTHING = ("unclean-election", "storage-lost")
"""The rules that permit to lose what was acknowledged with acks=all."""


@dataclass
class Election:
    """A new leader of a partition."""

    partition: int
    at: int
    leader: int
    deposed: int | None
    """The leader before it; None where none is known."""
    deposed_since: int
    """When that one became leader."""
    outside_isr: bool
    last_unclean: int | None
    """When the ISR was last left before it."""


def states(history: History, subject: str) -> list[Event]:
    """Return the states of a partition in order of time."""
    return [
        item
        for item in history.timeline
        if item.source == "partition" and item.event == "state" and item.subject == subject
    ]


def elections(history: History, partition: int, subject: str | None = None) -> list[Election]:
    """Return the elections of a partition; its first state is none."""
    found: list[Election] = []
    seen = states(history, subject or f"{history.case.name}-{partition}")
    last_unclean: int | None = None
    for index, state in enumerate(seen[1:], start=1):
        before = seen[index - 1]
        earlier = [item for item in seen[:index] if item.detail["leader"] >= 0]
        epochs = [item.detail["leader_epoch"] for item in earlier]
        if state.detail["leader"] < 0 or state.detail["leader_epoch"] <= max(epochs, default=-1):
            continue
        deposed = earlier[-1] if earlier else None
        since = [
            item
            for item in earlier
            if deposed and item.detail["leader_epoch"] == deposed.detail["leader_epoch"]
        ]
        outside = state.detail["leader"] not in before.detail["isr"]
        found.append(
            Election(
                partition=partition,
                at=state.at,
                leader=state.detail["leader"],
                deposed=deposed.detail["leader"] if deposed else None,
                deposed_since=since[0].at if since else 0,
                outside_isr=outside,
                last_unclean=last_unclean,
            )
        )
        if outside:
            last_unclean = state.at
    return found


def first_offset_cut(history: History, election: Election) -> int:
    """Return the lowest offset at which the new leader's epoch can begin."""
    lowest = 0
    for record in history.records:
        send = record.send
        if send is None or send["outcome"] != "acked" or send["partition"] != election.partition:
            continue
        place = (send["partition"], send["offset"])
        if send["done_at"] >= election.at or send["offset"] is None:
            continue
        if not any(identity_of(row) == record.identity for row in history.log_at(place)):
            continue
        if election.outside_isr:
            by_deposed = send["done_at"] > election.deposed_since + ZOOKEEPER_SESSION
            since_left = election.last_unclean is None or send["done_at"] > election.last_unclean
            by_all = history.acks(record.identity[0]) == "all" and since_left
            if not by_deposed and not by_all:
                continue
        lowest = max(lowest, send["offset"] + 1)
    return lowest


def acknowledged_until(history: History, election: Election) -> float:
    """Return until when the deposed leader may have acknowledged sends."""
    until: float = election.at + ZOOKEEPER_SESSION
    frozen = False
    thawed: float | None = None
    for item in history.timeline:
        if item.source != "member" or item.subject != f"kafka-{election.deposed}":
            continue
        if item.event == "frozen" and item.at <= election.at:
            frozen, thawed = True, None
        if item.event == "thawed" and frozen and thawed is None:
            thawed = item.at
    if not frozen:
        return until
    return max(until, (thawed if thawed is not None else float("inf")) + ZOOKEEPER_SESSION)


def lost_storage(history: History, subject: str, election: Election) -> bool:
    """Whether a fault had emptied the disk of the leader, or of every member of the ISR."""
    seen = states(history, subject)
    index = next(index for index, state in enumerate(seen) if state.at == election.at)
    before = seen[index - 1].detail["isr"]
    emptied = {
        broker: _emptied(history, subject, broker, election)
        for broker in {*before, election.leader}
    }
    return emptied[election.leader] or (bool(before) and all(emptied[one] for one in before))


def _emptied(history: History, subject: str, broker: int, election: Election) -> bool:
    """Whether a broker's disk was emptied, and not filled again before an election."""
    empty = False
    out = False
    for item in history.timeline:
        if item.at > election.at:
            break
        if item.source == "fault" and item.event == "injected":
            targets = [target.get("member") for target in item.detail.get("targets", [])]
            if item.detail.get("action") == "LoseDisk" and f"kafka-{broker}" in targets:
                empty, out = True, False
        if item.source == "partition" and item.subject == subject and item.at < election.at:
            if item.event != "state":
                continue
            if broker not in item.detail["isr"]:
                out = True
            elif item.detail["leader"] == broker:
                # Elected with what was left: from here on the partition begins anew.
                empty = False if _newly(history, subject, item) else empty
            elif out and item.detail["leader"] >= 0:
                empty = False
    return empty


def _newly(history: History, subject: str, state: Event) -> bool:
    """Whether a state is the first of its epoch, and not the first of all."""
    seen = states(history, subject)
    before = [item for item in seen if item.at < state.at]
    epoch = state.detail["leader_epoch"]
    return bool(before) and all(item.detail["leader_epoch"] < epoch for item in before)


def permits_any_loss(
    history: History, election: Election, subject: str | None = None
) -> str | None:
    """Return the rule by which an election may lose what was acknowledged with acks=all."""
    topic = history.case.topic
    unclean = topic.get("unclean.leader.election.enable") == "true" and subject is None
    if election.outside_isr and unclean:
        return "unclean-election"
    if lost_storage(history, subject or f"{history.case.name}-{election.partition}", election):
        return "storage-lost"
    return None


def may_cut(history: History, election: Election, offset: int | None, written: int) -> bool:
    """Whether an election may have cut what was written at an offset by some time."""
    if written > acknowledged_until(history, election):
        return False
    return offset is None or offset >= first_offset_cut(history, election)


def loss_permitted(
    history: History, acks: str, partition: int | None, offset: int | None, written: int
) -> str | None:
    """Return the rule that permits to lose a record at a place; None where none does."""
    partitions = range(4) if partition is None else [partition]
    rules: set[str] = set()
    for number in partitions:
        for election in elections(history, number):
            if not may_cut(history, election, offset, written):
                continue
            rule = permits_any_loss(history, election)
            if rule is not None:
                rules.add(rule)
            if acks in ("1", "0"):
                rules.add(f"acks-{acks}-leader-change")
    order = (*LOSES_ANYTHING, "acks-1-leader-change", "acks-0-leader-change")
    return next((rule for rule in order if rule in rules), None)


def usable_offset(history: History, record: Record) -> int | None:
    """Return the offset a record was acknowledged at; None where it lies outside of its log."""
    send = record.send
    if send is None or send["outcome"] != "acked":
        return None
    partition, offset = send["partition"], send["offset"]
    if partition is None or offset is None or not history.read(partition):
        return int(offset) if offset is not None else None
    if offset < history.log_start(partition):
        return None if record.log else int(offset)
    if offset < history.log_end(partition):
        return int(offset)
    cut = any(
        may_cut(history, election, offset, send["done_at"])
        for election in elections(history, partition)
    )
    return int(offset) if cut else None


def acked_place(history: History, record: Record) -> Place | None:
    """Return where a record was acknowledged, if that can be used."""
    offset = usable_offset(history, record)
    if offset is None or record.send is None or record.send["partition"] is None:
        return None
    return record.send["partition"], offset
