"""What the ledgers say when brokers and pods are killed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.contract.traffic.local_kafka import LocalKafka, wait_until
from tests.contract.traffic.pods import Pods, plan_document
from tests.contract.traffic.test_traffic import acked, end_offsets

from krt_contract.exits import TrafficExit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.traffic.control_api import ControlApi

SECONDS = 60


def test_producer_during_a_broker_crash_has_unknown_sends_and_keeps_its_schedule(
    own_kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    own_kafka.start()
    own_kafka.create_topic("crash", 3)
    short = {"config": {"message.timeout.ms": "1500", "message.send.max.retries": "0"}}
    pods = Pods(tmp_path, api, plan_document(own_kafka, "crash", 3, producer=short))
    api.set("Produce")
    producer = pods.start("producer", "main", "p1")
    wait_until("sends are acked", lambda: acked(pods) >= 500)
    own_kafka.kill("broker")
    wait_until(
        "sends have timed out",
        lambda: sum(row["error"] == "_MSG_TIMED_OUT" for row in pods.rows("produce")) > 500,
    )
    own_kafka.await_session_end()
    own_kafka.start_broker()
    before = acked(pods)
    wait_until("sends are acked again", lambda: acked(pods) >= before + 500)
    api.set("StopProducing")
    assert producer.wait(SECONDS) == 0, pods.log("p1")

    rows = pods.rows("produce")
    close = pods.rows("producer_summary")[0]
    outcomes = Counter(row["outcome"] for row in rows)
    assert outcomes["unknown"] > 500
    assert outcomes["failed"] == 0
    assert {name: close[name] for name in ("acked", "unknown", "failed")} == {
        name: outcomes[name] for name in ("acked", "unknown", "failed")
    }
    assert sorted(row["seq"] for row in rows) == list(range(close["attempted"]))
    assert all(row["offset"] is None for row in rows if row["outcome"] != "acked")
    # The schedule did not wait for the broker: records stay 2 ms apart throughout the outage.
    due = sorted(row["scheduled_at"] for row in rows)
    assert (due[-1] - due[0]) / (len(due) - 1) == pytest.approx(2000, abs=0.1)


def test_producer_killed_leaves_a_row_for_all_but_its_last_sends(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    kafka.create_topic("killed", 3)
    pods = Pods(
        tmp_path, api, plan_document(kafka, "killed", 3, producer={"recordsPerSecond": 2000})
    )
    api.set("Produce")
    producer = pods.start("producer", "main", "p1")
    wait_until(
        "a file has been numbered",
        lambda: list((pods.bundle / "produce").glob("*-000000.parquet")),
    )
    producer.kill()
    producer.wait()
    rows = pods.rows("produce")
    assert not pods.rows("producer_summary")
    assert max(Counter(row["seq"] for row in rows).values()) == 1
    ends = end_offsets(kafka, "killed", 3)["killed"]
    landed = sum(ends.values())
    # Blind: at most two flush intervals of sends at 2000 a second, on a busy machine.
    assert landed - len(rows) <= 2000
    # Records are dealt out to the partitions in turn, and each partition is acknowledged in order.
    # A kill while a file gets its number leaves acknowledged sends alone, of one partition more
    # than of another.
    for partition in range(3):
        recorded = sorted(row["seq"] for row in rows if row["partition"] == partition)
        assert recorded == list(range(partition, 3 * len(recorded), 3))


def test_consumer_killed_leaves_a_row_for_each_offset_it_committed(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    kafka.create_topic("reader", 3)
    pods = Pods(tmp_path, api, plan_document(kafka, "reader", 3))
    api.set("Produce")
    producer = pods.start("producer", "main", "p1")
    consumer = pods.start("consumer", "read", "c1")
    wait_until("a thousand are read", lambda: len(pods.rows("consume")) >= 1000)
    consumer.kill()
    consumer.wait()
    client = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "group-reader"})
    committed = client.committed([TopicPartition("reader", n) for n in range(3)], timeout=20)
    client.close()
    handed = {(row["partition"], row["offset"]) for row in pods.rows("consume")}
    assert sum(item.offset for item in committed) > 0
    assert all(item.leader_epoch == 0 for item in committed if item.offset > 0)
    assert {(item.partition, at) for item in committed for at in range(item.offset)} <= handed

    second = pods.start("consumer", "read", "c2")
    api.set("StopProducing")
    assert producer.wait(SECONDS) == 0, pods.log("p1")
    ends = end_offsets(kafka, "reader", 3)
    api.set("Drain", ends)
    assert second.wait(SECONDS) == 0, pods.log("c2")
    assert pods.message("c2")["reason"] == "drained", pods.log("c2")
    handed = {(row["partition"], row["offset"]) for row in pods.rows("consume")}
    assert handed == {
        (int(number), at) for number, end in ends["reader"].items() for at in range(end)
    }


def test_consumer_with_an_offset_beyond_the_log_records_a_reset_to_its_end(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    kafka.create_topic("beyond", 1)
    client = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "group-beyond"})
    client.commit(offsets=[TopicPartition("beyond", 0, 1000)], asynchronous=False)
    client.close()
    pods = Pods(tmp_path, api, plan_document(kafka, "beyond", 1, producer={"keyCount": 1}))
    api.set("Produce")
    consumer = pods.start("consumer", "read", "c1")
    wait_until(
        "the reset is recorded",
        lambda: any(row["event"] == "reset" for row in pods.rows("consumer_events")),
    )
    producer = pods.start("producer", "main", "p1")
    wait_until("records are read again", lambda: len(pods.rows("consume")) > 100)
    api.set("StopProducing")
    assert producer.wait(SECONDS) == 0
    api.set("Drain", end_offsets(kafka, "beyond", 1))
    assert consumer.wait(SECONDS) == 0, pods.log("c1")
    assigned, reset = (
        next(row for row in pods.rows("consumer_events") if row["event"] == name)
        for name in ("assigned", "reset")
    )
    assert (assigned["offset"], reset["offset"]) == (1000, 0)
    assert "out of range" in reset["detail"].lower()
    assert len(pods.rows("consume")) == len(pods.rows("produce"))


def test_sigterm_ends_a_pod_in_order_and_abort_at_once(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    kafka.create_topic("ends", 3)
    pods = Pods(tmp_path, api, plan_document(kafka, "ends", 3))
    api.set("Produce")
    producers = [pods.start("producer", "main", f"p{n}", n) for n in range(2)]
    consumer = pods.start("consumer", "read", "c1")
    wait_until("records are read", lambda: len(pods.rows("consume")) > 100)
    producers[0].terminate()
    assert producers[0].wait(SECONDS) == 0
    assert pods.message("p0")["reason"] == "terminated"
    api.set("Abort")
    assert [producers[1].wait(SECONDS), consumer.wait(SECONDS)] == [0, 0]
    assert pods.message("p1")["reason"] == pods.message("c1")["reason"] == "aborted"
    assert len(pods.rows("producer_summary")) == 2


@pytest.mark.parametrize("end", ["timed out", "terminated"])
def test_consumer_ending_before_its_end_offsets_reports_it(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path, end: str
) -> None:
    topic = f"short-{end.split(maxsplit=1)[0]}"
    kafka.create_topic(topic, 1)
    drain = "2s" if end == "timed out" else "60s"
    pods = Pods(tmp_path, api, plan_document(kafka, topic, 1, drain=drain))
    api.set("Produce")
    consumer = pods.start("consumer", "read", "c1")
    wait_until("it is assigned", lambda: bool(pods.rows("consumer_events")))
    # No producer writes the records up to these offsets.
    api.set("Drain", {topic: {"0": 10}})
    if end == "terminated":
        wait_until("it drains", lambda: "draining to" in pods.log("c1"))
        consumer.terminate()
    assert consumer.wait(SECONDS) == TrafficExit.BEHIND, pods.log("c1")
    assert "drained" not in {row["event"] for row in pods.rows("consumer_events")}
    message = pods.message("c1")
    assert message["reason"] == ("behind" if end == "timed out" else "terminated")
    if end == "timed out":
        assert (
            message["error"]
            == f"drain timed out: {topic}-0 at nothing of 10; raise spec.timeouts.drain"
        )
