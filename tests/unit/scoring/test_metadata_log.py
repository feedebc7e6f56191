"""The history of a KRaft cluster in scoring: from the records, by rules of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.contract.metadata_records import Log
from tests.unit.scoring.builders import (
    DOWN,
    EVENTS,
    RUN,
    SECOND,
    codes,
    event,
    expecting_run,
    guard_inputs,
    of_fault,
    results,
    second_event,
    without,
)

from krt_contract.metadata import Metadata, MetadataMode
from krt_contract.metadata_log.fold import events_of
from krt_contract.metadata_log.record import RecordType
from krt_scoring.inputs import broker_session
from krt_scoring.inputs.metadata_log import with_metadata_log
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.metrics.live_leaders import deaths
from krt_scoring.metrics.partition_states import States
from krt_scoring.outputs.report.charts.event_words import event_word
from krt_scoring.selftest import metadata_log as selftest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from krt_contract.metadata_log.record import LogRecord
    from krt_contract.plan import Plan
    from krt_contract.timeline import Event

KRAFT = replace(RUN, metadata=Metadata(MetadataMode.KRAFT, "id"))


def kraft_run(expect: dict[str, Any], **config: str) -> Plan:
    metadata = Metadata(MetadataMode.KRAFT, "id")
    return replace(expecting_run(expect), metadata=metadata, controller_config=config)


def stored(folder: Path, records: Sequence[LogRecord], tail: str = "") -> Path:
    folder.mkdir()
    text = "".join(record.line() for record in records) + tail
    (folder / "recorder-r1.jsonl").write_text(text)
    return folder


def log_of_a_move() -> Log:
    log = Log()
    log.elect(100, 1)
    log.topic([0, 1])
    log.change(0, isr=[1], leader=1)
    return log


def states_of(timeline: Timeline) -> list[tuple[int, int]]:
    return [
        (item.detail["leader"], item.detail["leader_epoch"])
        for item in timeline.of("partition", "state")
    ]


# From the records.


def test_with_metadata_log_takes_the_records_in_place_of_what_the_timeline_has_of_them(
    tmp_path: Path,
) -> None:
    log = log_of_a_move()
    told = events_of(log.records)
    # One event is missing, one is there twice, and the loss of the quorum is in no record.
    lost = event(5, "controller", "quorum-lost", "", since=3, **{"from": "metadata-log"})
    timeline = Timeline((*told[:2], told[0], lost, EVENTS[0]))
    found = with_metadata_log(timeline, stored(tmp_path / "log", log.records), KRAFT)
    assert states_of(found) == [(0, 0), (1, 1)]
    assert len(list(found.of("controller"))) == 2
    assert len(found.events) == len(told) + 2
    assert found.reasons == ()


def test_with_metadata_log_of_a_zookeeper_run_reads_nothing(tmp_path: Path) -> None:
    folder = stored(tmp_path / "log", log_of_a_move().records)
    assert with_metadata_log(Timeline(EVENTS), folder, RUN) == Timeline(EVENTS)


@pytest.mark.parametrize(
    ("kept", "tail", "expected"),
    [
        (slice(0, 0), "", [("evidence", "FileMissing")]),
        (slice(0, None, 2), "", [("evidence", "MetadataLogIncomplete")]),
        (slice(2, None), "", [("evidence", "MetadataLogIncomplete")]),
        # A controller with a snapshot does not give the first record.
        (slice(1, None), "", []),
        (slice(0, None), '{"off', [("coverage", "TimelineTorn")]),
        (slice(0, None), "?\n", [("evidence", "FileUnreadable")]),
    ],
)
def test_with_metadata_log_what_is_missing_is_a_reason(
    kept: slice, tail: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    folder = stored(tmp_path / "log", log_of_a_move().records[kept], tail)
    found = with_metadata_log(Timeline(()), folder, KRAFT)
    assert [(item.kind, item.code) for item in found.reasons] == expected


# Sessions.


def test_session_of_kraft_is_the_controllers_setting_or_kafkas_default() -> None:
    assert KRAFT.broker_session.seconds == 9
    config = {"broker.session.timeout.ms": "4000"}
    assert replace(KRAFT, controller_config=config).broker_session.seconds == 4
    assert RUN.broker_session == RUN.zookeeper_session


@pytest.mark.parametrize(
    ("restarts", "end"),
    [((), 19), ((5,), 19), ((12,), 21), ((12, 20), 29), ((12, 40), 21), ((20,), 19)],
)
def test_session_restarts_with_each_new_controller(restarts: tuple[int, ...], end: int) -> None:
    assert broker_session.lasts_until(10, 9, restarts) == end


def test_controller_elections_of_zookeeper_restart_no_session() -> None:
    events = (
        event(1, "controller", "elected", "0", epoch=3),
        event(2, "controller", "elected", "100", epoch=3, offset=9),
    )
    assert broker_session.controller_elections(events) == (2,)


# Liveness.


def test_deaths_of_a_killed_broker_last_until_it_is_unfenced() -> None:
    events = (
        event(10, "member", "killed", "t-kafka-0", member="kafka-0"),
        event(19, "broker", "fenced", "0", epoch=5),
        event(30, "broker", "registered", "0", epoch=8, fenced=True),
        event(34, "broker", "unfenced", "0", epoch=8),
    )
    assert deaths(Timeline(events)) == {0: [(10, 34)]}


def test_deaths_of_a_healthy_broker_that_was_fenced_last_until_it_is_unfenced() -> None:
    events = (
        event(19, "broker", "fenced", "0", epoch=5),
        event(24, "broker", "unfenced", "0", epoch=5),
    )
    assert deaths(Timeline(events)) == {0: [(19, 24)]}


# Expectations.


def folded(*changes: tuple[float, int, dict[str, Any]]) -> list[Event]:
    """Return the states of two partitions, and these changes at a time in seconds."""
    log = Log()
    log.topic([0, 1], [1, 0])
    for at, partition, data in changes:
        log.at = round(at * SECOND)
        log.change(partition, **data)
    return list(events_of(log.records))


def test_evaluate_every_state_without_a_leader_is_offline_in_a_complete_history() -> None:
    expect = of_fault(offlinePartitions={"max": 0})
    moved = folded((12, 0, {"isr": [1], "leader": -1}), (12.1, 0, {"leader": 1}))
    run = kraft_run(expect)
    assert results(expect, *moved, run=run) == {"down.offlinePartitions": "NotMet"}
    assert States.of(Timeline(tuple(moved)), run).offline(0, 60 * SECOND) == {("foo", 0)}
    # A controller of ZooKeeper's writes such a state ahead of each election.
    assert States.of(Timeline(tuple(moved)), expecting_run(expect)).offline(0, 60 * SECOND) == set()


def test_evaluate_leader_that_moved_from_a_fenced_bystander_of_a_controllers_fault() -> None:
    expect = of_fault(unrelatedLeaderChanges={"max": 0})
    moved = folded((14, 1, {"isr": [0], "leader": 0}))
    fenced = second_event(14, "broker", "fenced", "1", epoch=3, offset=9)
    run = kraft_run(expect)
    frozen = replace(DOWN, targets=({"member": "controller-0", "uid": "c0"},))
    assert results(expect, *moved, fenced, run=run, faults=(frozen,)) == {
        "down.unrelatedLeaderChanges": "Met"
    }
    # It is unrelated where it was not fenced, and where no controller is the target.
    for events, faults in ((moved, (frozen,)), ([*moved, fenced], (DOWN,))):
        assert results(expect, *events, run=run, faults=faults) == {
            "down.unrelatedLeaderChanges": "NotMet"
        }


def test_evaluate_election_of_the_last_known_leader_is_not_an_unclean_one() -> None:
    expect = {"uncleanElections": "None"}
    moved = folded(
        (12, 0, {"isr": [], "leader": -1, "lastKnownElr": [0]}),
        (20, 0, {"isr": [0], "leader": 0, "leaderRecoveryState": 1, "lastKnownElr": []}),
    )
    assert results(expect, *moved, run=kraft_run(expect)) == {"uncleanElections": "Met"}
    other = folded((12, 0, {"isr": [], "leader": -1}), (20, 0, {"isr": [1], "leader": 1}))
    assert results(expect, *other, run=kraft_run(expect)) == {"uncleanElections": "NotMet"}


def test_evaluate_coordination_changes_of_kraft_count_its_own_events() -> None:
    expect = of_fault(
        brokersFenced={"max": 0},
        brokerSessionExpirations={"max": 0},
        quorumLosses={"max": 0},
    )
    events = (
        second_event(15, "broker", "fenced", "0", epoch=3),
        second_event(16, "controller", "quorum-lost"),
    )
    assert results(expect, *events, run=kraft_run(expect)) == {
        "down.brokersFenced": "NotMet",
        "down.brokerSessionExpirations": "NotEvaluated",
        "down.quorumLosses": "NotMet",
    }
    zookeeper = second_event(15, "broker", "unregistered", "0")
    assert results(expect, zookeeper, run=expecting_run(expect)) == {
        "down.brokersFenced": "NotEvaluated",
        "down.brokerSessionExpirations": "NotMet",
        "down.quorumLosses": "NotEvaluated",
    }


# Guards.


@pytest.mark.parametrize(
    ("stream", "at_end", "expected"),
    [
        ("recorder", False, []),
        ("process", False, []),
        ("pods", False, [("coverage", "TimelineGap", "pods")]),
        ("metadata-log", True, [("coverage", "TimelineGap", "metadata-log")]),
    ],
)
def test_check_gap_of_kraft_counts_where_the_log_does_not_fill_it(
    stream: str, at_end: bool, expected: list[tuple[str, str, str]]
) -> None:
    detail: dict[str, Any] = {"stream": stream, "from": 12, "to": 99}
    gap = event(99, "recorder", "gap", "recorder", **detail, **({"atEnd": True} if at_end else {}))
    found = codes(guard_inputs((*without(("recorder", "stopped")), gap, EVENTS[-1]), run=KRAFT))
    assert [item for item in found if item[1] == "TimelineGap"][: len(expected)] == expected
    assert expected or "TimelineGap" not in [item[1] for item in found]


def test_event_word_names_the_controller_of_either_mode() -> None:
    assert event_word("controller", "elected", "1") == "broker 1 elected"
    assert event_word("controller", "elected", "101") == "controller-1 elected"
    assert event_word("broker", "fenced", "1") == "fenced"


def test_record_types_that_no_history_needs_are_ignored(tmp_path: Path) -> None:
    log = log_of_a_move()
    log.add(RecordType.NO_OP)
    log.add("RECORD_120")
    found = with_metadata_log(Timeline(()), stored(tmp_path / "log", log.records), KRAFT)
    assert states_of(found) == [(0, 0), (1, 1)]


# The self-test.


def test_selftest_finds_the_record_that_it_takes_out(tmp_path: Path) -> None:
    folder = stored(tmp_path / "log", log_of_a_move().records)
    ((result,), lacking) = selftest.run(folder, KRAFT, seed=1)
    assert result.detected
    assert lacking == {}
    assert result.at["offset"] in range(1, 3)


def test_selftest_that_finds_nothing_wrong_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krt_contract.metadata_log.files.StoredLog.gaps", lambda _: ())
    folder = stored(tmp_path / "log", log_of_a_move().records)
    ((result,), _) = selftest.run(folder, KRAFT, seed=1)
    assert not result.detected


def test_selftest_of_a_log_with_a_gap_and_of_zookeeper_tries_nothing(tmp_path: Path) -> None:
    folder = stored(tmp_path / "log", log_of_a_move().records[::2])
    assert selftest.run(folder, KRAFT, seed=1) == ([], {selftest.NAME: selftest.NEEDS})
    assert selftest.run(folder, RUN, seed=1) == ([], {})
