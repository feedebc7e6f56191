"""The states of partitions that the recorder missed, as the brokers' logs tell of them.

A watch of ZooKeeper tells that a znode changed and what it holds when it is read, so of two quick
writes the first goes by unseen; its version tells that it was there. Who wrote it, the controller
or the partition's leader, logged what it had written (Kafka 3.9 on ZooKeeper, level INFO:
PartitionStateMachine, ReplicaStateMachine, KafkaController, Partition).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.timeline import Event, EventName, Source
from krt_scoring.inputs import member_logs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from krt_scoring.inputs.timeline import Timeline

Written = tuple[str, int]
"""A partition as Kafka writes it, and the version of its state."""

SOURCE = "log"
"""What ``from`` says in the detail of a state that was taken from a log."""

_WRITES = (
    re.compile(
        r"Changed partition (?P<subject>\S+) from \w+ to OnlinePartition with state "
        r"LeaderAndIsr\(leader=(?P<leader>-?\d+), leaderEpoch=(?P<epoch>\d+), "
        r"isrWithBrokerEpoch=List\((?P<brokers>.*?)\), leaderRecoveryState=\w+, "
        r"partitionEpoch=(?P<version>\d+)\)"
    ),
    re.compile(
        r"Partition (?P<subject>\S+) state changed to \(Leader:(?P<leader>-?\d+),"
        r"ISR:(?P<isr>[\d,]*),LeaderRecoveryState:\w+,LeaderEpoch:(?P<epoch>\d+),"
        r"ZkVersion:(?P<version>\d+),"
    ),
    re.compile(
        r"Updated leader epoch for partition (?P<subject>\S+) to (?P<epoch>\d+), "
        r"zkVersion=(?P<version>\d+)"
    ),
    re.compile(
        r"\[Partition (?P<subject>\S+) broker=\d+\] ISR updated to (?P<isr>[\d,]*)\s.*?"
        r"and version updated to (?P<version>\d+)"
    ),
)
"""An election, a replica out of the ISR, a new epoch ahead of a reassignment, an ISR that the
leader changed. What a line does not say is as in the version before."""

_BROKER = re.compile(r"brokerId=(\d+)")


@dataclass(frozen=True, slots=True)
class _Line:
    """What a line tells of a state; None where it does not."""

    at: int
    leader: int | None
    epoch: int | None
    isr: tuple[int, ...] | None


def filled(timeline: Timeline, logs: Path) -> Timeline:
    """Return a timeline with the states that it lacks and a log tells of.

    Nothing is added unless the versions show that it is missing, and nothing whose leader, epoch
    or ISR is not known.

    Args:
        timeline: the events of a run.
        logs: folder of the members' logs, as the recorder wrote them; need not be there.
    """
    seen: dict[Written, Event] = {}
    for event in timeline.of(Source.PARTITION, EventName.STATE):
        seen[event.subject, int(event.detail.get("version", 0))] = event
    wanting = _wanting(seen)
    if not wanting:
        return timeline
    told = _told(logs, wanting)
    added = []
    for subject, version in sorted(wanting):
        line = told.get((subject, version))
        state = _state(line, subject, version, seen) if line else None
        if state is not None:
            seen[subject, version] = state
            added.append(state)
    return timeline.joined(added)


def _wanting(seen: Mapping[Written, Event]) -> set[Written]:
    """Return the versions below each partition's last that nobody saw."""
    last: dict[str, int] = {}
    for subject, version in seen:
        last[subject] = max(version, last.get(subject, 0))
    return {(subject, version) for subject, most in last.items() for version in range(most)} - set(
        seen
    )


def _told(logs: Path, wanting: set[Written]) -> dict[Written, _Line]:
    found: dict[Written, _Line] = {}
    for line in member_logs.lines(logs, "artition"):
        match = next((match for pattern in _WRITES if (match := pattern.search(line))), None)
        if match is None:
            continue
        written = match["subject"], int(match["version"])
        at = member_logs.written_at(line) if written in wanting else None
        if at is not None:
            found.setdefault(written, _line(at, match.groupdict()))
    return found


def _line(at: int, said: Mapping[str, str]) -> _Line:
    brokers = said["isr"].split(",") if "isr" in said else _BROKER.findall(said.get("brokers", ""))
    return _Line(
        at=at,
        leader=int(said["leader"]) if "leader" in said else None,
        epoch=int(said["epoch"]) if "epoch" in said else None,
        isr=_ids(brokers) if {"isr", "brokers"} & said.keys() else None,
    )


def _ids(words: list[str]) -> tuple[int, ...]:
    return tuple(int(word) for word in words if word)


def _state(line: _Line, subject: str, version: int, seen: Mapping[Written, Event]) -> Event | None:
    before, after = seen.get((subject, version - 1)), seen.get((subject, version + 1))
    known = before.detail if before else {}
    leader = known.get("leader") if line.leader is None else line.leader
    epoch = known.get("leader_epoch") if line.epoch is None else line.epoch
    isr = known.get("isr") if line.isr is None else line.isr
    if leader is None or epoch is None or isr is None:
        return None
    # It is logged once ZooKeeper has answered, which may be after the next one was written.
    at = min(line.at, after.at) if after else line.at
    at = max(at, before.at) if before else at
    detail = {
        "leader": leader,
        "leader_epoch": epoch,
        "isr": list(isr),
        "version": version,
        "from": SOURCE,
    }
    return Event(
        at=at,
        mono=0,
        source=Source.PARTITION,
        event=EventName.STATE,
        subject=subject,
        detail=detail,
    )
