"""Transactions and the other ways to commit."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.contract.traffic.local_kafka import LocalKafka, wait_until
from tests.contract.traffic.pods import Pods, plan_document
from tests.contract.traffic.test_traffic import acked, end_offsets, identities

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.traffic.control_api import ControlApi

SECONDS = 60


def test_transactional_producer_gives_each_send_the_outcome_of_its_transaction(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    kafka.create_topic("transactions", 3)
    transactional = {
        "enableIdempotence": True,
        "transactional": {"recordsPerTransaction": 20, "abortPermille": 300},
    }
    pods = Pods(tmp_path, api, plan_document(kafka, "transactions", 3, producer=transactional))
    api.set("Produce")
    producer = pods.start("producer", "main", "p1")
    consumer = pods.start("consumer", "read", "c1")
    wait_until("sends are acked", lambda: acked(pods) >= 500)
    api.set("StopProducing")
    assert producer.wait(SECONDS) == 0, pods.log("p1")
    api.set("Drain", end_offsets(kafka, "transactions", 3))
    assert consumer.wait(SECONDS) == 0, pods.log("c1")
    assert pods.message("c1")["reason"] == "drained", pods.log("c1")

    rows = pods.rows("produce")
    assert sorted(row["seq"] for row in rows) == list(range(len(rows)))
    assert Counter((row["outcome"], row["transaction_outcome"]) for row in rows).keys() == {
        ("acked", "committed"),
        ("failed", "aborted"),
    }
    assert all(count <= 20 for count in Counter(row["transaction"] for row in rows).values())
    committed = [row for row in rows if row["outcome"] == "acked"]
    assert identities(pods.rows("consume")) == identities(committed)


@pytest.mark.parametrize("mode", ["Auto", "BeforeProcessing"])
def test_consumer_in_each_commit_mode_reads_all_and_commits_the_end(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path, mode: str
) -> None:
    topic = f"mode-{mode.lower()}"
    kafka.create_topic(topic, 3)
    config = {"auto.commit.interval.ms": "500", "session.timeout.ms": "6000"}
    # A client with a rack reports the broker it reads from.
    consumer_changes = {
        "commit": mode,
        "config": config if mode == "Auto" else {"client.rack": "here"},
    }
    pods = Pods(tmp_path, api, plan_document(kafka, topic, 3, consumer=consumer_changes))
    api.set("Produce")
    producer = pods.start("producer", "main", "p1")
    consumer = pods.start("consumer", "read", "c1")
    wait_until("records are read", lambda: len(pods.rows("consume")) >= 300)
    if mode != "Auto":
        # Reported with the client's statistics, once a second, which a busy machine delays.
        wait_until("the brokers read from are reported", lambda: len(_read_from(pods)) == 3)
    api.set("StopProducing")
    assert producer.wait(SECONDS) == 0, pods.log("p1")
    ends = end_offsets(kafka, topic, 3)
    api.set("Drain", ends)
    assert consumer.wait(SECONDS) == 0, pods.log("c1")
    assert pods.message("c1")["reason"] == "drained", pods.log("c1")
    deliveries, events = pods.rows("consume"), pods.rows("consumer_events")
    assert _read_from(pods) == (set() if mode == "Auto" else {(0, 0), (1, 0), (2, 0)})
    assert identities(deliveries) == identities(pods.rows("produce"))
    committed = "processed" if mode == "BeforeProcessing" else "committed"
    last = {row["partition"]: row["offset"] for row in events if row["event"] == committed}
    assert {str(number): offset for number, offset in last.items()} == ends[topic]
    assert all((row["processed_at"] is None) == (mode == "BeforeProcessing") for row in deliveries)
    # No commit covers an offset whose delivery came later.
    for event in (row for row in events if row["event"] == "committed"):
        before = {
            row["offset"]
            for row in deliveries
            if row["partition"] == event["partition"] and row["event_seq"] < event["event_seq"]
        }
        assert before >= set(range(event["offset"]))


def _read_from(pods: Pods) -> set[tuple[int, int]]:
    """Return partition and broker of every read that the consumer reported."""
    return {
        (row["partition"], json.loads(row["detail"])["broker"])
        for row in pods.rows("consumer_events")
        if row["event"] == "fetching"
    }
