from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition
from tests.contract.traffic.local_kafka import LocalKafka, wait_until
from tests.contract.traffic.pods import Pods, plan_document

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.contract.traffic.control_api import ControlApi


def end_offsets(kafka: LocalKafka, topic: str, partitions: int) -> dict[str, dict[str, int]]:
    client = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "ends"})
    ends = {
        str(number): client.get_watermark_offsets(TopicPartition(topic, number), timeout=20)[1]
        for number in range(partitions)
    }
    client.close()
    return {topic: ends}


def wait(process: subprocess.Popen[bytes], seconds: float = 60) -> int:
    return process.wait(seconds)


def identities(rows: list[dict[str, Any]]) -> Counter[tuple[str, int]]:
    return Counter((row["producer_incarnation"], row["seq"]) for row in rows)


def acked(pods: Pods) -> int:
    return sum(row["outcome"] == "acked" for row in pods.rows("produce"))


def test_draining_group_has_read_everything_acked(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    kafka.create_topic("plain", 3)
    pods = Pods(tmp_path, api, plan_document(kafka, "plain", 3))
    api.set("Produce")
    producer = pods.start("producer", "main", "p1")
    consumers = [pods.start("consumer", "read", f"c{n}", n) for n in range(2)]
    wait_until("a thousand sends are acked", lambda: acked(pods) >= 1000)
    api.set("StopProducing")
    assert wait(producer) == 0, pods.log("p1")
    end = end_offsets(kafka, "plain", 3)
    ends = end["plain"]
    api.set("Drain", end)
    assert [wait(consumer) for consumer in consumers] == [0, 0], pods.log("c0") + pods.log("c1")

    sends = pods.rows("produce")
    close = pods.rows("producer_summary")
    assert len(close) == 1
    assert close[0]["attempted"] == len(sends) == close[0]["acked"]
    assert pods.message("p1")["counts"]["attempted"] == len(sends)
    assert {row["seq"] for row in sends} == set(range(len(sends)))
    offsets = {(row["partition"], row["offset"]): row["seq"] for row in sends}
    assert len(offsets) == len(sends)
    assert all(row["scheduled_at"] <= row["sent_at"] <= row["done_at"] for row in sends)

    deliveries = pods.rows("consume")
    assert identities(deliveries) == identities(sends)
    assert all(offsets[row["partition"], row["offset"]] == row["seq"] for row in deliveries)
    assert all(row["checksum_ok"] and row["processed_at"] for row in deliveries)
    for uid in ("c0", "c1"):
        assert pods.message(uid)["reason"] == "drained", pods.log(uid)
        ns = [
            row["event_seq"]
            for table in ("consume", "consumer_events")
            for row in pods.rows(table)
            if row["incarnation"] == uid
        ]
        assert sorted(ns) == list(range(len(ns)))
    events = pods.rows("consumer_events")
    assert {row["event"] for row in events} >= {"assigned", "committed", "closed"}
    # Either of them says it of all partitions, whoever owned them at that moment.
    for uid in ("c0", "c1"):
        drained = {
            row["partition"]: row["offset"]
            for row in events
            if (row["incarnation"], row["event"]) == (uid, "drained")
        }
        assert drained == {int(number): end for number, end in ends.items()}
    owners: dict[tuple[int, int], set[str]] = {}
    for uid in ("c0", "c1"):
        own = sorted(
            (
                row
                for row in events
                if row["incarnation"] == uid and row["event"] in {"assigned", "committed"}
            ),
            key=lambda row: row["event_seq"],
        )
        generations = [row["generation"] for row in own]
        assert None not in generations
        assert generations == sorted(generations)
        for row in own:
            owners.setdefault((row["generation"], row["partition"]), set()).add(uid)
    assert all(len(uids) == 1 for uids in owners.values()), owners
