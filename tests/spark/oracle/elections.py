"""Elections, the first offset that one can have cut, and the losses that they permit.

docs/reference/allowances.md: the rules of losses, and "The first offset that an election can have
cut".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.spark.oracle.history import CLOCKS, ZOOKEEPER_SESSION, place_of

if TYPE_CHECKING:
    from tests.spark.oracle.history import History, Place, Record

    from krt_contract.timeline import Event


@dataclass
class Election:
    """A new leader of a partition."""

    partition: int
    at: int
    leader: int
    deposed: int
    """The leader before it; -1 where none is known."""
    deposed_since: int
    """When that one became leader."""
    outside_isr: bool
    storage_lost: bool
    left: int | None
    """When the ISR was last left, or storage lost, before it."""
    parted: int
    """When the leader was last put out of the ISR; 0 where it never was in it."""
    before: int
    """What was acknowledged before this was so before the election."""
    polled: bool
    """Whether states between those around it, and the ISR at that moment, were not seen."""


def states(history: History, subject: str) -> list[Event]:
    """Return the states of a partition in the order ZooKeeper had them."""
    found = [
        item
        for item in history.timeline
        if item.source == "partition" and item.event == "state" and item.subject == subject
    ]
    return sorted(
        found, key=lambda item: (item.detail["leader_epoch"], item.detail.get("version", item.at))
    )


def polled(state: Event) -> bool:
    """Whether a state was seen by polling."""
    return state.detail.get("from") == "polling"


def elections(history: History, partition: int, subject: str | None = None) -> list[Election]:
    """Return the elections of a partition; its first state is none."""
    found: list[Election] = []
    subject = subject or history.case.subject(partition)
    seen = states(history, subject)
    deposed, since, term = -1, 0, -1
    left: int | None = None
    parted: dict[int, int] = {}
    for before, state in pairwise(seen):
        for broker in before.detail["isr"]:
            if broker not in state.detail["isr"]:
                parted[broker] = state.at
        epochs = before.detail["leader_epoch"], state.detail["leader_epoch"]
        led = before.detail["leader"] != -1
        if led and (before.detail["leader"] != deposed or (polled(before) and epochs[0] != term)):
            # Nobody else can have led before the first one.
            first = before is seen[0] and before.detail["leader_epoch"] == 0
            deposed, since = before.detail["leader"], -ZOOKEEPER_SESSION if first else before.at
            term = epochs[0]
        unseen = polled(state) and epochs[1] > epochs[0] + 1
        if epochs[1] <= epochs[0] or (state.detail["leader"] == -1 and not unseen):
            continue
        outside = polled(state) or state.detail["leader"] not in before.detail["isr"]
        storage = not polled(state) and lost_storage(history, seen, state)
        found.append(
            Election(
                partition=partition,
                at=state.at,
                leader=state.detail["leader"],
                deposed=deposed,
                deposed_since=since,
                outside_isr=outside,
                storage_lost=storage,
                left=left,
                parted=0 if polled(state) else parted.get(state.detail["leader"], 0),
                before=certainly_before(before, state),
                polled=polled(state),
            )
        )
        if outside or storage:
            left = state.at
    return found


def certainly_before(before: Event, state: Event) -> int:
    """Return the time before which it was certainly before the election."""
    if not polled(state):
        return state.at
    # An answer may be as old as clocks may differ.
    return max(before.at, int(state.detail.get("unchanged_until", 0))) - CLOCKS


def first_offset_cut(history: History, election: Election) -> int:
    """Return the lowest offset at which the new leader's epoch can begin."""
    lowest = 0
    if election.storage_lost:
        return lowest
    for record in history.records:
        send = record.send
        if send is None or send["outcome"] != "acked" or send["partition"] != election.partition:
            continue
        place = (send["partition"], send["offset"])
        if send["done_at"] >= election.before or send["offset"] is None:
            continue
        if {place_of(row) for row in record.log} != {place}:
            continue
        if election.outside_isr:
            by_deposed = send["sent_at"] >= election.deposed_since + ZOOKEEPER_SESSION
            left = election.left
            since_left = left is None or send["done_at"] >= left + ZOOKEEPER_SESSION
            in_sync = send["done_at"] + CLOCKS < election.parted
            by_all = history.acks(record.identity[0]) == "all" and since_left and in_sync
            if not by_deposed and not by_all:
                continue
        lowest = max(lowest, send["offset"] + 1)
    return lowest


def acknowledged_until(history: History, leader: int, at: int, grace: int) -> float:
    """Return until when a leader may have acknowledged sends by what it knew before a change.

    Args:
        history: the case's.
        leader: before the change.
        at: when it was made.
        grace: in which the leader hears of it.
    """
    until: float = at
    member = f"kafka-{leader}"
    own = freezes(history, f"{history.case.name}-{member}")
    for begin, end in [*own, *freezes_of_others(history, member)]:
        if begin <= at:
            until = max(until, end)
    return until + grace


def freezes(history: History, uid: str) -> list[tuple[int, float]]:
    """Return from when to when a process was frozen."""
    found: list[tuple[int, float]] = []
    begin: int | None = None
    for item in history.timeline:
        if item.source != "member" or item.detail.get("uid") != uid:
            continue
        if item.event == "frozen":
            begin = item.at
        elif item.event == "thawed" and begin is not None:
            found.append((begin, item.at))
            begin = None
    return found if begin is None else [*found, (begin, float("inf"))]


def freezes_of_others(history: History, member: str) -> list[tuple[int, float]]:
    """Return from when to when a broker was frozen that somebody else runs, by its faults."""
    found: dict[str, tuple[int, float]] = {}
    for item in history.timeline:
        targets = item.detail.get("targets", ())
        named = any(each.get("namespace") and each.get("member") == member for each in targets)
        if item.source != "fault" or item.detail.get("action") != "FreezePod" or not named:
            continue
        if item.event == "injected":
            found[item.subject] = item.at, float("inf")
        elif item.event == "reverted" and item.subject in found:
            found[item.subject] = found[item.subject][0], item.at
    return list(found.values())


def lost_storage(history: History, seen: list[Event], elected: Event) -> bool:
    """Whether a fault had emptied the disk of a new leader, or of every member of the ISR."""
    empty: set[int] = set()
    known: list[tuple[int, int]] = []
    for before, state in pairwise(seen):
        for broker, at in emptied(history):
            if at <= state.at and (broker, at) not in known:
                known.append((broker, at))
                empty.add(broker)
        # Who joins the ISR of another leader has copied all of it again.
        joined = set(state.detail["isr"]) - set(before.detail["isr"])
        empty -= joined - {state.detail["leader"]}
        if state is elected:
            return state.detail["leader"] in empty or set(before.detail["isr"]) <= empty
        if state.detail["leader_epoch"] > before.detail["leader_epoch"]:
            # From here on the log is what this leader has.
            empty.discard(state.detail["leader"])
    return False


def emptied(history: History) -> list[tuple[int, int]]:
    """Return which broker's disk was lost, and when."""
    return [
        (int(target["member"].removeprefix("kafka-")), item.at)
        for item in history.timeline
        if item.source == "fault" and item.event == "injected"
        if item.detail.get("action") == "LoseDisk"
        for target in item.detail.get("targets", [])
    ]


def permits_any_loss(
    history: History, election: Election, subject: str | None = None
) -> str | None:
    """Return the rule by which an election may lose what was acknowledged with acks=all."""
    if election.storage_lost:
        return "storage-lost"
    setting = "unclean.leader.election.enable"
    unclean = subject is None and history.topic(election.partition).get(setting) == "true"
    certain = election.outside_isr and not election.polled
    return "unclean-election" if certain and unclean else None


def undecided(history: History, election: Election, subject: str | None = None) -> bool:
    """Whether a polled election may permit what certain ones would, and nobody can tell."""
    setting = "unclean.leader.election.enable"
    unclean = subject is None and history.topic(election.partition).get(setting) == "true"
    storage = any(
        item.detail.get("action") in ("LoseDisk", "External")
        for item in history.timeline
        if (item.source, item.event) == ("fault", "injected") and item.at <= election.at
    )
    return election.polled and (unclean or storage)


def may_cut(history: History, election: Election, offset: int | None, written: int) -> bool:
    """Whether an election may have cut what was written at an offset by some time."""
    if written > acknowledged_until(history, election.deposed, election.at, ZOOKEEPER_SESSION):
        return False
    return offset is None or offset >= first_offset_cut(history, election)


def loss_permitted(
    history: History, acks: str, partition: int | None, offset: int | None, written: int
) -> str | None:
    """Return the rule that permits to lose a record at a place; None where none does."""
    if partition is None:
        return None
    cutting = [
        election
        for election in elections(history, partition)
        if may_cut(history, election, offset, written)
    ]
    rules = [permits_any_loss(history, election) for election in cutting]
    rule = next((rule for rule in rules if rule is not None), None)
    if rule is None and cutting and acks in ("1", "0"):
        return f"acks-{acks}-leader-change"
    return rule


def usable_offset(history: History, record: Record) -> int | None:
    """Return the offset a record was acknowledged at; None where it lies outside of its log."""
    send = record.send
    if send is None or send["outcome"] != "acked":
        return None
    partition, offset = send["partition"], send["offset"]
    if partition is None or offset is None or not history.read(partition):
        return int(offset) if offset is not None else None
    if (partition, offset) in map(place_of, record.log):
        return int(offset)
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
