"""What is read of the output of Kafka's own tools, line by line."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from krt_scoring import cli
from krt_scoring.inputs import recording, run_info
from krt_scoring.inputs.bundle_files import inspect
from krt_scoring.inputs.importers.verifiable import importer, outcomes, values

if TYPE_CHECKING:
    from pathlib import Path

    from krt_scoring.inputs.importers.verifiable.importer import Imported

ACK = {"name": "producer_send_success", "key": None, "topic": "foo", "partition": 0}
DATA = {"name": "record_data", "key": None, "topic": "foo", "partition": 0}
ERRORS = "class org.apache.kafka.common.errors."


def line(*at: int, **event: Any) -> str:
    return json.dumps({"timestamp": at[0] if at else 1, **event}) + "\n"


def ack(seq: int, offset: int, **more: Any) -> str:
    return line(**{**ACK, "value": f"1.{seq}", "offset": offset, **more})


def error(seq: int, exception: str) -> str:
    more = {"topic": "foo", "exception": exception, "message": "m"}
    return line(name="producer_send_error", key=None, value=f"1.{seq}", **more)


def closed(sent: int, acked: int) -> str:
    return line(9, name="shutdown_complete") + line(9, name="tool_data", sent=sent, acked=acked)


def got(seq: int, offset: int, **more: Any) -> str:
    return line(**{**DATA, "value": f"1.{seq}", "offset": offset, **more})


def polled(count: int) -> str:
    place = {"topic": "foo", "partition": 0, "count": count, "minOffset": 0, "maxOffset": 0}
    return line(name="records_consumed", count=count, partitions=[place])


ASSIGNED = line(name="partitions_assigned", partitions=[{"topic": "foo", "partition": 0}])
REVOKED = line(name="partitions_revoked", partitions=[{"topic": "foo", "partition": 0}])
PRODUCED = ack(0, 0) + ack(1, 1) + closed(2, 2)
CONSUMED = ASSIGNED + got(0, 0) + got(1, 1) + polled(2) + line(9, name="shutdown_complete")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "history"
    folder.mkdir()
    (folder / "producer-1.jsonl").write_text(PRODUCED)
    (folder / "consumer-g-1.jsonl").write_text(CONSUMED)
    return folder


def load(root: Path) -> Imported:
    return importer.load(root, root.parent / "bundle")


def codes(root: Path) -> list[tuple[str, str]]:
    return [(reason.code, reason.subject) for reason in load(root).reasons]


def rows(imported: Imported, table: str) -> list[dict[str, Any]]:
    folder = imported.bundle.table(table)
    return pq.read_table(folder).to_pylist() if any(folder.glob("*.parquet")) else []


def test_import_complete_history_gives_every_table(root: Path) -> None:
    imported = load(root)
    assert imported.reasons == ()
    sent = [(row["producer"], row["seq"], row["offset"]) for row in rows(imported, "produce")]
    assert sent == [("1-0", 0, 0), ("1-0", 1, 1)]
    (close,) = rows(imported, "producer_summary")
    assert (close["attempted"], close["acked"], close["unknown"]) == (2, 2, 0)
    given = [
        (row["producer_incarnation"], row["seq"], row["event_seq"])
        for row in rows(imported, "consume")
    ]
    assert given == [("producer-1", 0, 1), ("producer-1", 1, 2)]
    events = sorted(rows(imported, "consumer_events"), key=lambda row: row["event_seq"])
    assert [(row["event"], row["offset"]) for row in events] == [
        ("assigned", 0),
        ("closed", None),
        ("drained", 2),
    ]
    plan = run_info.load(imported.bundle.run_json)
    assert [(topic.name, topic.partitions) for topic in plan.topics] == [("foo", 1)]
    (producer,) = plan.producers
    assert (producer.acks, producer.idempotent, producer.config["retries"]) == ("all", False, "0")
    assert not (imported.bundle.root / "log").exists()


def test_import_of_a_process_that_wrote_nothing_leaves_the_others_as_they_are(root: Path) -> None:
    millis = 1_760_000_000_000
    for path in list(root.iterdir()):
        path.write_text(re.sub(r'"timestamp": \d+', f'"timestamp": {millis}', path.read_text()))
    (root / "consumer-g-2.jsonl").write_text("")
    imported = load(root)
    plan = run_info.load(imported.bundle.run_json)
    loaded = recording.load(inspect(imported.bundle), plan)
    assert "RowInvalid" not in {reason.code for reason in loaded.inspection.reasons}
    assert min(item.at for item in loaded.timeline.events) == millis * 1000


def test_import_log_output_is_ignored(root: Path) -> None:
    noise = "[2026-01-01] INFO Kafka version: 3.9.1 (org.apache.kafka)\n\n"
    (root / "producer-1.jsonl").write_text(noise + PRODUCED)
    assert codes(root) == []


DAMAGED: dict[str, tuple[str, str, str]] = {
    "a line cut in the middle": ("producer-1", ack(0, 0) + ack(1, 1)[:30] + "\n", "2"),
    "a line whose beginning is gone": ("producer-1", ack(0, 0)[10:] + ack(1, 1), "1"),
    "an event the tool could not write": (
        "producer-1",
        "Bad data can't be written as json: x\n" + PRODUCED,
        "1",
    ),
    "an event without a name": ("producer-1", '{"timestamp": 1}\n' + PRODUCED, "1"),
    "an event of the other tool": ("producer-1", PRODUCED + CONSUMED, "5"),
    "an event nobody knows": ("consumer-g-1", line(name="nap") + CONSUMED, "1"),
    "an ack without an offset": ("producer-1", line(**ACK, value="1.0") + PRODUCED, "1"),
    "a value of another kind": ("producer-1", ack(0, 0, value="x") + PRODUCED, "1"),
    "two prefixes in one file": ("producer-1", PRODUCED + ack(3, 3, value="2.3"), "5"),
    "two processes in one file": (
        "producer-1",
        line(name="startup_complete") + PRODUCED + line(name="startup_complete"),
        "6",
    ),
    "a delivery without an offset": ("consumer-g-1", line(**DATA, value="1.0") + CONSUMED, "1"),
    "an assignment without partitions": (
        "consumer-g-1",
        line(name="partitions_assigned") + CONSUMED,
        "1",
    ),
    "a commit that says nothing of its success": (
        "consumer-g-1",
        line(name="offsets_committed", offsets=[]) + CONSUMED,
        "1",
    ),
}


@pytest.mark.parametrize("case", sorted(DAMAGED))
def test_import_damaged_line_is_named_by_file_and_number(root: Path, case: str) -> None:
    stem, text, number = DAMAGED[case]
    (root / f"{stem}.jsonl").write_text(text)
    found = [item for item in load(root).reasons if item.code == "FileUnreadable"]
    assert [(item.kind, item.subject) for item in found] == [("evidence", f"{stem}.jsonl:{number}")]
    assert found[0].message.startswith(f"line {number} ")
    assert "lost-write" in found[0].invalidates


def test_import_torn_last_line_is_no_damage(root: Path) -> None:
    (root / "producer-1.jsonl").write_text(ack(0, 0) + ack(1, 1)[:30])
    (found,) = load(root).reasons
    assert (found.kind, found.code, found.invalidates) == ("coverage", "FileTorn", ())


def test_import_record_missing_in_the_listing_is_no_loss_of_kafka(root: Path) -> None:
    path = root / "consumer-g-1.jsonl"
    path.write_text(ASSIGNED + got(0, 0) + polled(2))
    assert codes(root) == [("DeliveriesNotListed", "consumer-g-1.jsonl:3")]
    path.write_text(ASSIGNED + polled(2))
    (found,) = load(root).reasons
    assert "--verbose" in found.message


def test_import_values_of_no_producer_are_counted(root: Path) -> None:
    text = ASSIGNED + got(0, 0) + got(1, 1, value="7.1") + got(2, 2, value="hello") + polled(3)
    (root / "consumer-g-1.jsonl").write_text(text)
    (found,) = load(root).reasons
    assert (found.code, found.subject) == ("ForeignRecords", "consumer-g-1.jsonl:3")
    assert "2 deliveries" in found.message
    assert "7.1" in found.message


def test_import_two_producers_of_the_same_values_are_refused(root: Path) -> None:
    (root / "producer-2.jsonl").write_text(PRODUCED)
    assert codes(root) == [("ValuesAmbiguous", "producer-2.jsonl")]


def test_import_file_with_an_unknown_name_is_refused(root: Path) -> None:
    (root / "out.jsonl").write_text(PRODUCED)
    assert codes(root) == [("FileUnknown", "out.jsonl")]


def test_import_group_starts_where_the_settings_say(root: Path) -> None:
    path = root / "consumer-g-1.jsonl"
    path.write_text(ASSIGNED + REVOKED + ASSIGNED + got(1, 1) + polled(1) + REVOKED + ASSIGNED)

    def starts() -> list[int | None]:
        found = rows(load(root), "consumer_events")
        found.sort(key=lambda row: row["event_seq"])
        return [row["offset"] for row in found if row["event"] == "assigned"]

    assert starts() == [0, 1, None]
    (root / "history.json").write_text('{"groups": {"g": {"start": "first-read"}}}')
    assert starts() == [1, 1, None]


def test_import_sends_refused_by_a_closed_producer_are_no_attempts(root: Path) -> None:
    refused = error(2, "class java.lang.IllegalStateException")
    text = ack(0, 0) + ack(1, 1) + refused + closed(3, 2)
    (root / "producer-1.jsonl").write_text(text)
    imported = load(root)
    assert len(rows(imported, "produce")) == 2
    (close,) = rows(imported, "producer_summary")
    assert (close["attempted"], close["acked"], close["unknown"]) == (2, 2, 0)


def test_import_failed_commit_is_unknown(root: Path) -> None:
    offsets = [{"topic": "foo", "partition": 0, "offset": 2}]
    failed = line(name="offsets_committed", offsets=offsets, success=False, error="timed out")
    (root / "consumer-g-1.jsonl").write_text(CONSUMED + failed)
    (row,) = [r for r in rows(load(root), "consumer_events") if r["event"].startswith("commit")]
    assert (row["event"], row["offset"], row["detail"]) == ("commit_unknown", 2, "timed out")


def test_import_acks_0_has_no_offset(root: Path) -> None:
    (root / "producer-1.jsonl").write_text(ack(0, -1) + ack(1, -1) + closed(2, 2))
    (root / "history.json").write_text('{"producers": {"1": {"acks": "0"}}}')
    assert {row["offset"] for row in rows(load(root), "produce")} == {None}


OUTCOMES = {
    "TimeoutException": "unknown",
    "NotLeaderOrFollowerException": "unknown",
    "NotEnoughReplicasAfterAppendException": "unknown",
    "DisconnectException": "unknown",
    "RecordTooLargeException": "failed",
    "BufferExhaustedException": "failed",
    "NotEnoughReplicasException": "failed",
}


@pytest.mark.parametrize("exception", sorted(OUTCOMES))
def test_outcome_error_is_a_failure_only_where_it_is_certain(exception: str) -> None:
    wanted = OUTCOMES[exception]
    assert outcomes.outcome(ERRORS + exception, retries=False) == wanted


def test_outcome_with_retries_is_unknown() -> None:
    exception = f"{ERRORS}NotEnoughReplicasException"
    assert outcomes.outcome(exception, retries=True) == "unknown"


def test_values_with_and_without_prefix_are_read() -> None:
    found = [values.parse(value) for value in ("7", "3.12", "-1.0", "x", "3.", "1.2.3", None, 7)]
    assert found == [("", 7), ("3", 12), ("-1", 0), None, None, None, None, None]


BAD_SETTINGS = {
    "{": "is no readable JSON",
    "[]": "is no JSON object",
    '{"acks": 1}': "'acks' means nothing",
    '{"killed": "p"}': "killed is no list",
    '{"producers": {"1": {"acks": "2"}}}': "producers.1.acks is '2'",
    '{"groups": {"g": 1}}': "groups.g is no object",
    '{"topics": {"foo": {"config": 1}}}': "topics.foo.config is no object",
    '{"topics": {"foo": {"partitions": "3"}}}': "topics.foo.partitions is '3', no number",
    '{"producers": {"1": {"config": {"retries": "x"}}}}': "config.retries is 'x', no number",
    '{"brokerConfig": {"min.insync.replicas": "two"}}': "min.insync.replicas is 'two'",
    '{"objectives": {"maxRecovery": "soon"}}': "objectives: ",
}


@pytest.mark.parametrize("text", sorted(BAD_SETTINGS))
def test_settings_without_meaning_are_refused(
    root: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "history.json").write_text(text)
    out = root.parent / "card.json"
    assert cli.main(["--from", "verifiable", str(root), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Inconclusive: PlanUnusable history.json: ")
    assert BAD_SETTINGS[text] in printed
    assert json.loads(out.read_text())["verdict"] == "Inconclusive"


@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
def test_import_other_folder_is_refused(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / kind
    if kind == "empty":
        path.mkdir()
    if kind == "file":
        path.write_text("x")
    assert cli.main(["--from", "verifiable", str(path)]) == cli.EXIT_NO_BUNDLE
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert str(path) in printed
