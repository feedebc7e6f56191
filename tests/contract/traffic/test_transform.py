"""Consume, transform, produce: each record of the input makes exactly one of the output."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.contract.traffic.local_kafka import LocalKafka, wait_until
from tests.contract.traffic.pods import Pods, plan_document
from tests.contract.traffic.test_traffic import end_offsets, identities

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.contract.traffic.control_api import ControlApi

SECONDS = 60
Identity = tuple[str, int]


def started(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path, topic: str, **output: Any
) -> tuple[Pods, subprocess.Popen[bytes], subprocess.Popen[bytes]]:
    """Start a run's producer and the reader of what is made."""
    for name in (topic, f"{topic}-made"):
        kafka.create_topic(name, 3)
    sizes = {"recordsPerTransaction": 200, "abortPermille": 0} | output
    pods = Pods(tmp_path, api, plan_document(kafka, topic, 3, output=sizes))
    api.set("Produce")
    producer = pods.start("producer", "main", "p1")
    return pods, producer, pods.start("consumer", "read", "r1")


def made(pods: Pods) -> int:
    """Records the reader has got."""
    return sum(row["group"].endswith("-make") is False for row in pods.rows("consume"))


def drained(
    kafka: LocalKafka,
    pods: Pods,
    topic: str,
    first: subprocess.Popen[bytes],
    then: dict[str, subprocess.Popen[bytes]],
) -> None:
    """End the run in the order in which the controller does."""
    pods.api.set("StopProducing")
    assert first.wait(SECONDS) == 0, pods.log("p1")
    pods.api.set("DrainTransforms", end_offsets(kafka, topic, 3))
    for uid, process in then.items():
        if uid == "r1":
            pods.api.set("Drain", end_offsets(kafka, f"{topic}-made", 3))
        assert process.wait(SECONDS) == 0, pods.log(uid)
        assert pods.message(uid)["reason"] == "drained", pods.log(uid)


def by_group(pods: Pods) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Deliveries to those who transform, and to the reader of what they made."""
    rows = pods.rows("consume")
    return (
        [row for row in rows if row["group"].endswith("-make")],
        [row for row in rows if not row["group"].endswith("-make")],
    )


def sent_by(pods: Pods, *uids: str) -> list[dict[str, Any]]:
    return [row for row in pods.rows("produce") if row["producer_incarnation"] in uids]


def test_transform_commits_or_aborts_input_and_output_together(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    pods, producer, reader = started(kafka, api, tmp_path, "together", abortPermille=300)
    maker = pods.start("consumer", "make", "m1")
    wait_until("records were made", lambda: made(pods) >= 1000)
    drained(kafka, pods, "together", producer, {"m1": maker, "r1": reader})

    taken, got = by_group(pods)
    sends, outputs = sent_by(pods, "p1"), sent_by(pods, "m1")
    assert Counter((row["outcome"], row["transaction_outcome"]) for row in outputs).keys() == {
        ("acked", "committed"),
        ("failed", "aborted"),
    }
    outcomes = {row["seq"]: row["transaction_outcome"] for row in outputs}
    expected = {"ok": "committed", "failed": "aborted"}
    assert all(outcomes[row["output_seq"]] == expected[row["outcome"]] for row in taken)
    assert len({row["output_seq"] for row in taken}) == len(taken) == len(outputs)
    once = [row for row in taken if row["outcome"] == "ok"]
    assert identities(once) == identities(sends)
    committed = [row for row in outputs if row["outcome"] == "acked"]
    assert identities(got) == identities(committed)
    assert len(got) == len(sends)
    keys = {row["seq"]: (row["key"], row["partition"]) for row in sends}
    made_of = {row["output_seq"]: keys[row["seq"]] for row in once}
    assert all(made_of[row["seq"]] == (row["key"], row["partition"]) for row in committed)

    events = [row for row in pods.rows("consumer_events") if row["incarnation"] == "m1"]
    for name, outcome in (("committed", "ok"), ("commit_failed", "failed")):
        of_events = {row["transaction"] for row in events if row["event"] == name}
        # Markers alone are passed without a record.
        assert of_events >= {row["transaction"] for row in taken if row["outcome"] == outcome}
    ns = [row["event_seq"] for row in (*taken, *events)]
    assert sorted(ns) == list(range(len(ns)))
    close = next(row for row in pods.rows("producer_summary") if row["producer"] == "make-0")
    assert close["attempted"] == len(outputs) == pods.message("m1")["counts"]["attempted"]
    assert (close["acked"], close["unknown"]) == (len(committed), 0)


def test_transform_with_a_killed_member_has_each_record_once(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    pods, producer, reader = started(
        kafka, api, tmp_path, "killed-maker", config={"transaction.timeout.ms": "10000"}
    )
    makers = {"m0": pods.start("consumer", "make", "m0", 0)}
    wait_until("records were made", lambda: made(pods) >= 300)
    makers["m1"] = pods.start("consumer", "make", "m1", 1)
    wait_until("both own something", lambda: len(owners(pods)) == 2)
    wait_until("the one to be killed is amid a transaction", lambda: undecided(pods, "m0"))
    dead = makers.pop("m0")
    dead.kill()
    dead.wait()
    before = made(pods)
    # The namesake's id ends what the dead one left open.
    makers["m2"] = pods.start("consumer", "make", "m2", 0)
    wait_until("records are made again", lambda: made(pods) >= before + 500)
    drained(kafka, pods, "killed-maker", producer, {**makers, "r1": reader})

    taken, got = by_group(pods)
    assert not [row for row in pods.rows("producer_summary") if row["producer_incarnation"] == "m0"]
    assert {row["outcome"] for row in taken if row["incarnation"] != "m0"} <= {"ok", "failed"}
    delivered = {(row["producer_incarnation"], row["seq"]) for row in got}
    assert len(delivered) == len(got)
    # The output shows what the killed member could not record: all of a transaction, or none.
    pending = {row["transaction"] for row in taken if row["outcome"] == "unknown"}
    for transaction in pending:
        outputs = {
            (row["incarnation"], row["output_seq"])
            for row in taken
            if (row["incarnation"], row["transaction"]) == ("m0", transaction)
        }
        assert outputs <= delivered or not outputs & delivered
    counts = [
        row
        for row in taken
        if row["outcome"] == "ok"
        or (row["outcome"] == "unknown" and (row["incarnation"], row["output_seq"]) in delivered)
    ]
    assert identities(counts) == identities(sent_by(pods, "p1"))
    assert {(row["incarnation"], row["output_seq"]) for row in counts} == delivered


def owners(pods: Pods) -> set[str]:
    """Incarnations that make records and were assigned a partition."""
    return {
        row["incarnation"]
        for row in pods.rows("consumer_events")
        if row["group"].endswith("-make") and row["event"] == "assigned" and row["topic"]
    }


def undecided(pods: Pods, uid: str) -> bool:
    return any(
        row["outcome"] == "unknown" for row in pods.rows("consume") if row["incarnation"] == uid
    )
