"""The states of partitions that the recorder missed, from the brokers' logs.

A watch of ZooKeeper reports that a znode changed and its content when it is read, so the first of
two quick writes is missed; the version shows that there was one. The writer, which is the
controller or the partition's leader, logged what it had written (Kafka 3.9 on ZooKeeper, level
INFO: PartitionStateMachine, ReplicaStateMachine, KafkaController, Partition).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.timeline import Event, EventName, Source
from krt_scoring.inputs.member_logs.lines import lines, written_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from krt_scoring.inputs.timeline import Timeline

Written = tuple[str, int]
"""A partition as Kafka writes it, and the version of its state."""

SOURCE = "log"
"""The value of ``from`` in the detail of a state that was taken from a log."""

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
    """What a line says of a state; None where it does not."""

    at: int
    leader: int | None
    epoch: int | None
    isr: tuple[int, ...] | None


def with_missed_states(timeline: Timeline, logs: Path) -> Timeline:
    """Return a timeline with the states that it lacks and a log has.

    Nothing is added unless the versions show that it is missing, or the recorder's end was not
    seen, which hides every later one; and nothing whose leader, epoch or ISR is not known.

    Args:
        timeline: the events of a run.
        logs: folder of the members' logs, as the recorder wrote them; need not be there.
    """
    seen: dict[Written, Event] = {}
    for event in timeline.of(Source.PARTITION, EventName.STATE):
        seen[event.subject, int(event.detail.get("version", 0))] = event
    last = _last_versions(seen)
    missing = {
        (subject, version) for subject, most in last.items() for version in range(most)
    } - set(seen)
    unobserved = timeline.unobserved_from() is not None
    if not missing and not unobserved:
        return timeline

    def wanted(subject: str, version: int) -> bool:
        later = unobserved and version > last.get(subject, -1)
        return later or (subject, version) in missing

    logged = _logged(logs, wanted)
    added = []
    for subject, version in sorted(missing | set(logged)):
        line = logged.get((subject, version))
        state = _state(line, subject, version, seen) if line else None
        if state is not None:
            seen[subject, version] = state
            added.append(state)
    return timeline.joined(added)


def _last_versions(seen: Iterable[Written]) -> dict[str, int]:
    """Return each partition's last version in the timeline."""
    last: dict[str, int] = {}
    for subject, version in seen:
        last[subject] = max(version, last.get(subject, 0))
    return last


def _logged(logs: Path, wanted: Callable[[str, int], bool]) -> dict[Written, _Line]:
    found: dict[Written, _Line] = {}
    for line in lines(logs, "artition"):
        match = next((match for pattern in _WRITES if (match := pattern.search(line))), None)
        if match is None:
            continue
        written = match["subject"], int(match["version"])
        at = written_at(line) if wanted(*written) else None
        if at is not None:
            found.setdefault(written, _line(at, match.groupdict()))
    return found


def _line(at: int, fields: Mapping[str, str]) -> _Line:
    brokers = (
        fields["isr"].split(",") if "isr" in fields else _BROKER.findall(fields.get("brokers", ""))
    )
    return _Line(
        at=at,
        leader=int(fields["leader"]) if "leader" in fields else None,
        epoch=int(fields["epoch"]) if "epoch" in fields else None,
        isr=_ids(brokers) if {"isr", "brokers"} & fields.keys() else None,
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
