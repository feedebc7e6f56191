"""States of partitions that the recorder missed and a broker's log tells of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krt_contract.timeline import Event
from krt_scoring.inputs.member_logs.partition_states import with_missed_states
from krt_scoring.inputs.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

AT = 1_795_302_782_000_000
"""2026-11-21T23:13:02Z in UTC µs."""

CREATED = (
    "[Controller id=1 epoch=1] Changed partition foo-1 from NewPartition to OnlinePartition with "
    "state LeaderAndIsr(leader=1, leaderEpoch=0, isrWithBrokerEpoch=List(BrokerState(brokerId=1, "
    "brokerEpoch=-1), BrokerState(brokerId=2, brokerEpoch=-1)), leaderRecoveryState=RECOVERED, "
    "partitionEpoch=0) (state.change.logger)"
)
VACANT = (
    "[Controller id=0 epoch=2] Partition foo-1 state changed to (Leader:-1,ISR:2,"
    "LeaderRecoveryState:RECOVERED,LeaderEpoch:1,ZkVersion:1,ControllerEpoch:2) after removing "
    "replica 1 from the ISR as part of transition to OfflineReplica (state.change.logger)"
)
ELECTED = (
    "[Controller id=0 epoch=2] Changed partition foo-1 from OfflinePartition to OnlinePartition "
    "with state LeaderAndIsr(leader=2, leaderEpoch=2, isrWithBrokerEpoch=List(BrokerState("
    "brokerId=2, brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=2) "
    "(state.change.logger)"
)
JOINED = (
    "[Partition foo-1 broker=2] ISR updated to 2,1  and version updated to 3 "
    "(kafka.cluster.Partition)"
)
SHRUNK = (
    "[Partition foo-1 broker=2] ISR updated to 2 (under-min-isr) and version updated to 3 "
    "(kafka.cluster.Partition)"
)
RENEWED = (
    "[Controller id=2] Updated leader epoch for partition foo-1 to 3, zkVersion=3 "
    "(kafka.controller.KafkaController)"
)


def state(at: int, version: int, leader: int, epoch: int, *isr: int) -> Event:
    detail = {"leader": leader, "leader_epoch": epoch, "isr": list(isr), "version": version}
    return Event(AT + at, at, "partition", "state", "foo-1", detail)


def logged(folder: Path, *lines: tuple[str, str]) -> Path:
    """A broker's log of (fraction of the second as digits, text)."""
    text = "".join(
        f"2026-11-21T23:13:02.{fraction}Z [2026-11-21 23:13:02,001] INFO {line}\n"
        for fraction, line in lines
    )
    (folder / "kafka-0-0-uid.log").write_text(f"no timestamp\n{text}", encoding="utf-8")
    return folder


def versions(line: Timeline) -> list[tuple[int, int, int, int, list[int]]]:
    return [
        (
            event.detail["version"],
            event.at - AT,
            event.detail["leader"],
            event.detail["leader_epoch"],
            event.detail["isr"],
        )
        for event in line.of("partition", "state")
    ]


FIRST, THIRD, LAST = (state(0, 0, 1, 0, 1, 2), state(300, 2, 2, 2, 2), state(900, 4, 2, 2, 2, 1))


@pytest.mark.parametrize(
    ("seen", "line", "expected"),
    [
        ((THIRD,), (("000000100", CREATED), ("000200000", VACANT)), (0, 0, 1, 0, [1, 2])),
        ((FIRST, THIRD), (("000200123", VACANT),), (1, 200, -1, 1, [2])),
        ((FIRST, state(300, 3, 2, 2, 2)), (("000200", ELECTED),), (2, 200, 2, 2, [2])),
        # What a leader's line does not say is as before; so with a new epoch.
        ((THIRD, LAST), (("0005", JOINED),), (3, 500, 2, 2, [2, 1])),
        ((THIRD, LAST), (("0005", SHRUNK),), (3, 500, 2, 2, [2])),
        ((THIRD, LAST), (("0005", RENEWED),), (3, 500, 2, 3, [2])),
        # Logged late, or by a clock behind, it still lies between its neighbours.
        ((FIRST, THIRD), (("000400", VACANT),), (1, 300, -1, 1, [2])),
        ((state(250, 0, 1, 0, 1, 2), THIRD), (("000200", VACANT),), (1, 250, -1, 1, [2])),
    ],
)
def test_with_missed_states_missing_version_is_taken_from_the_log(
    tmp_path: Path,
    seen: tuple[Event, ...],
    line: tuple[tuple[str, str], ...],
    expected: tuple[int, int, int, int, list[int]],
) -> None:
    found = with_missed_states(Timeline(seen), logged(tmp_path, *line))
    assert expected in versions(found)
    assert [event.at for event in found.events] == sorted(event.at for event in found.events)


def test_with_missed_states_consecutive_versions_build_on_each_other(tmp_path: Path) -> None:
    lines = (("000700", JOINED), ("000200", VACANT), ("000300", ELECTED))
    found = with_missed_states(Timeline((FIRST, LAST)), logged(tmp_path, *lines))
    assert versions(found) == [
        (0, 0, 1, 0, [1, 2]),
        (1, 200, -1, 1, [2]),
        (2, 300, 2, 2, [2]),
        (3, 700, 2, 2, [2, 1]),
        (4, 900, 2, 2, [2, 1]),
    ]


def test_with_missed_states_recorded_states_are_unchanged(tmp_path: Path) -> None:
    seen = (FIRST, state(1, 1, 2, 7, 2), THIRD)
    assert with_missed_states(Timeline(seen), logged(tmp_path, ("000200", VACANT))) == Timeline(
        seen
    )


@pytest.mark.parametrize(
    "line",
    [
        "[Partition foo-2 broker=2] ISR updated to 2,1  and version updated to 1 (x)",
        "[Partition foo-1 broker=2] ISR updated to 2,1  and version updated to 9 (x)",
        "Partition foo-1 is fine",
    ],
)
def test_with_missed_states_incomplete_line_adds_nothing(tmp_path: Path, line: str) -> None:
    seen = Timeline((FIRST, THIRD))
    assert with_missed_states(seen, logged(tmp_path, ("000200", line))) == seen


def test_with_missed_states_isr_of_an_unknown_state_adds_nothing(tmp_path: Path) -> None:
    seen = Timeline((FIRST, LAST))
    assert with_missed_states(seen, logged(tmp_path, ("000500", JOINED))) == seen


def test_with_missed_states_without_logs_adds_nothing(tmp_path: Path) -> None:
    seen = Timeline((FIRST, THIRD))
    assert with_missed_states(seen, tmp_path / "logs") == seen


STARTED = Event(AT - 1, 0, "recorder", "started", "recorder", {})
STOPPED = Event(AT + 1000, 0, "recorder", "stopped", "recorder", {})
SILENT_END = Event(
    AT + 999,
    0,
    "recorder",
    "gap",
    "recorder",
    {"stream": "zookeeper", "from": AT + 100, "to": AT + 999, "atEnd": True},
)
TAIL = (("000200", VACANT), ("000300", ELECTED), ("000700", JOINED))


@pytest.mark.parametrize("events", [(STARTED, SILENT_END, STOPPED), (STARTED,)])
def test_with_missed_states_after_an_unobserved_end_continues_from_the_log(
    tmp_path: Path, events: tuple[Event, ...]
) -> None:
    found = with_missed_states(Timeline((FIRST, *events)), logged(tmp_path, *TAIL))
    assert versions(found) == [
        (0, 0, 1, 0, [1, 2]),
        (1, 200, -1, 1, [2]),
        (2, 300, 2, 2, [2]),
        (3, 700, 2, 2, [2, 1]),
    ]
    assert found.unobserved_from() is not None


def test_with_missed_states_after_an_observed_end_adds_no_later_state(tmp_path: Path) -> None:
    seen = Timeline((STARTED, FIRST, STOPPED))
    assert with_missed_states(seen, logged(tmp_path, *TAIL)) == seen


def test_with_missed_states_beyond_a_hole_in_the_log_adds_only_what_is_certain(
    tmp_path: Path,
) -> None:
    """Version 2 says all of the state, version 4 only its ISR, and version 3 is missing."""
    last = JOINED.replace("version updated to 3", "version updated to 4")
    events = (FIRST, STARTED)
    lines = (("000300", ELECTED), ("000700", last))
    found = with_missed_states(Timeline(events), logged(tmp_path, *lines))
    assert [item[0] for item in versions(found)] == [0, 2]
