from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.contract.metadata_records import FOO, Log

from krt_contract.metadata_log.files import Damage, read_log
from krt_contract.metadata_log.fold import Fold, events_of, is_folded
from krt_contract.metadata_log.record import LogRecord, RecordType

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.timeline import Event


@pytest.fixture
def log() -> Log:
    return Log()


def states(log: Log, **wanted: Any) -> list[dict[str, Any]]:
    """Return the details of foo-0's states, only these keys."""
    return [
        {key: event.detail[key] for key in wanted}
        for event in events_of(log.records)
        if event.subject == "foo-0"
    ]


def told(events: tuple[Event, ...]) -> list[tuple[str, str, str]]:
    return [(item.source, item.event, item.subject) for item in events]


def test_fold_counts_leader_epochs_with_leaders_and_partition_epochs_with_records(
    log: Log,
) -> None:
    log.topic([0, 1, 2])
    log.change(0, isr=[1, 2], leader=1)
    log.change(0, isr=[1])
    log.change(0, leader=1)
    found = [
        (event.detail["leader"], event.detail["leader_epoch"], event.detail["version"])
        for event in events_of(log.records)
    ]
    assert found == [(0, 0, 0), (1, 1, 1), (1, 1, 2), (1, 2, 3)]


def test_fold_keeps_what_a_change_leaves_out(log: Log) -> None:
    log.topic([0, 1])
    log.change(0, isr=[], leader=-1, eligibleLeaderReplicas=[0], lastKnownElr=[1])
    log.change(0, leader=0, leaderRecoveryState=1)
    log.change(0, isr=[0, 1])
    last = events_of(log.records)[-1].detail
    assert last["elr"] == [0]
    assert last["last_known_elr"] == [1]
    assert last["recovering"] is True
    assert last["isr"] == [0, 1]


def test_fold_recovered_leader_is_no_longer_recovering(log: Log) -> None:
    log.topic([0, 1])
    log.change(0, leader=1, leaderRecoveryState=1)
    log.change(0, leaderRecoveryState=0)
    assert [item["recovering"] for item in states(log, recovering=True)] == [False, True, False]


def test_fold_cleared_elr_is_a_change_only_of_partitions_that_have_one(log: Log) -> None:
    log.topic([0, 1], [1, 0])
    log.change(0, eligibleLeaderReplicas=[1])
    log.add(RecordType.CLEAR_ELR, topicName="foo")
    found = events_of(log.records)
    assert [item.subject for item in found] == ["foo-0", "foo-1", "foo-0", "foo-0"]
    assert (found[-1].detail["elr"], found[-1].detail["version"]) == ([], 2)


def test_fold_aborted_transaction_changes_nothing(log: Log) -> None:
    log.topic([0, 1])
    log.add(RecordType.BEGIN_TRANSACTION)
    log.change(0, leader=1)
    log.add(RecordType.ABORT_TRANSACTION)
    log.change(0, isr=[0])
    assert [item["leader_epoch"] for item in states(log, leader_epoch=0)] == [0, 0]


def test_fold_transaction_takes_effect_at_its_end_with_the_times_of_its_records(log: Log) -> None:
    log.topic([0, 1])
    log.add(RecordType.BEGIN_TRANSACTION)
    changed = log.change(0, leader=1)
    fold = Fold()
    for record in log.records:
        assert record is not changed or fold.apply(record) == []
        if record is not changed:
            fold.apply(record)
    (event,) = fold.apply(log.add(RecordType.END_TRANSACTION))
    assert (event.at, event.detail["offset"]) == (changed.at, changed.offset)


def test_fold_features_have_the_last_level_and_none_that_is_off(log: Log) -> None:
    fold = Fold()
    for name, level in (("metadata.version", 25), ("group.version", 1), ("metadata.version", 29)):
        log.add(RecordType.FEATURE_LEVEL, name=name, featureLevel=level)
    log.add(RecordType.FEATURE_LEVEL, name="group.version", featureLevel=0)
    log.add(RecordType.BEGIN_TRANSACTION)
    log.add(RecordType.FEATURE_LEVEL, name="transaction.version", featureLevel=2)
    log.add(RecordType.ABORT_TRANSACTION)
    assert [event for record in log.records for event in fold.apply(record)] == []
    assert fold.features == {"metadata.version": 29}


def test_fold_removed_topic_is_forgotten(log: Log) -> None:
    log.topic([0])
    log.add(RecordType.REMOVE_TOPIC, topicId=FOO)
    log.change(0, isr=[0])
    fold = Fold()
    for record in log.records:
        fold.apply(record)
    assert fold.states() == {}


def test_fold_brokers_and_controller_have_their_epochs(log: Log) -> None:
    log.elect(101, 4)
    log.add(
        RecordType.REGISTER_BROKER,
        brokerId=1,
        brokerEpoch=7,
        endPoints=[{"name": "PLAINTEXT", "host": "kafka-1", "port": 9092}],
        rack="a",
        fenced=True,
    )
    log.broker(1, 7, fenced=-1)
    log.broker(1, 7, inControlledShutdown=1)
    log.broker(1, 7, fenced=1)
    log.add(RecordType.UNREGISTER_BROKER, brokerId=1, brokerEpoch=7)
    found = events_of(log.records)
    assert told(found) == [
        ("controller", "elected", "101"),
        ("broker", "registered", "1"),
        ("broker", "unfenced", "1"),
        ("broker", "shutting-down", "1"),
        ("broker", "fenced", "1"),
        ("broker", "unregistered", "1"),
    ]
    assert found[0].detail == {"epoch": 4, "offset": 0, "from": "metadata-log"}
    assert found[1].detail == {
        "epoch": 7,
        "host": "kafka-1",
        "rack": "a",
        "fenced": True,
        "offset": 1,
        "from": "metadata-log",
    }
    assert {item.detail["epoch"] for item in found[1:]} == {7}
    assert all(is_folded(item) for item in found)


def test_fold_older_fencing_records_are_the_same_events(log: Log) -> None:
    log.add(RecordType.FENCE_BROKER, id=2, epoch=9)
    log.add(RecordType.UNFENCE_BROKER, id=2, epoch=9)
    assert [item.event for item in events_of(log.records)] == ["fenced", "unfenced"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["leader", "isr", "elr"]), max_size=20))
def test_fold_of_any_changes_counts_like_kafka(changes: list[str]) -> None:
    log = Log()
    log.topic([0, 1])
    fields: dict[str, dict[str, Any]] = {
        "leader": {"leader": 1},
        "isr": {"isr": [1]},
        "elr": {"eligibleLeaderReplicas": [0]},
    }
    for change in changes:
        log.change(0, **fields[change])
    last = events_of(log.records)[-1].detail
    assert last["leader_epoch"] == changes.count("leader")
    assert last["version"] == len(changes)


def test_record_survives_its_line() -> None:
    record = LogRecord(5, 7, 2, "RECORD_99", 3, {"a": [1]}, "AAE=")
    assert LogRecord.parse(record.line()) == record


def test_record_of_another_shape_is_refused() -> None:
    for line in (
        b"[]",
        b"{}",
        b"7",
        b"{",
        b'{"offset":1,"at":1,"epoch":1,"type":"x","version":[]}',
    ):
        with pytest.raises(ValueError, match="no record"):
            LogRecord.parse(line)


def write(folder: Path, name: str, *records: LogRecord, tail: str = "") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(item.line() for item in records) + tail)


def test_files_of_two_recorders_are_one_log(log: Log, tmp_path: Path) -> None:
    for _ in range(4):
        log.add(RecordType.NO_OP)
    write(tmp_path / "log", "b.jsonl", *log.records[:3])
    write(tmp_path / "log", "a.jsonl", *log.records[2:])
    stored = read_log(tmp_path / "log")
    assert list(stored.records) == log.records
    assert (stored.first, stored.end, stored.gaps(), stored.damages) == (0, 4, (), ())


def test_files_with_a_gap_end_before_it_and_name_it(log: Log, tmp_path: Path) -> None:
    for _ in range(6):
        log.add(RecordType.NO_OP)
    write(tmp_path / "log", "a.jsonl", *log.records[1:3], log.records[5])
    stored = read_log(tmp_path / "log")
    assert (stored.first, stored.end, stored.gaps()) == (1, 3, ((3, 4),))


def test_files_torn_line_is_told_from_damage(log: Log, tmp_path: Path) -> None:
    log.add(RecordType.NO_OP)
    write(tmp_path / "log", "a.jsonl", *log.records, tail='{"offset":')
    write(tmp_path / "log", "b.jsonl", tail="nothing\n")
    assert read_log(tmp_path / "log").damages == (
        Damage("a.jsonl", 2, torn=True),
        Damage("b.jsonl", 1, torn=False),
    )


def test_files_of_a_bundle_without_a_log_are_empty(tmp_path: Path) -> None:
    stored = read_log(tmp_path / "log")
    assert (stored.records, stored.first, stored.end) == ((), None, 0)
