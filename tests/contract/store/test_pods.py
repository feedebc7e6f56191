"""Producers and consumers as processes, on an object store that dies: the ledgers balance.

The broker is the one that librdkafka has for tests; it needs no Java.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.contract.store.server import Server, until
from tests.contract.traffic.control_api import ControlApi
from tests.contract.traffic.pods import Pods, plan_document

from krt_contract.fetch import fetch
from krt_contract.object_layout import parse_part

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.contract.traffic.local_kafka import LocalKafka

TOPIC = "plain"
DEAD_SECONDS = 10


class MockKafka:
    """A broker within this process."""

    zookeeper = "127.0.0.1:1"

    def __init__(self) -> None:
        self._owner = Producer({"test.mock.num.brokers": 1})
        (broker,) = self._owner.list_topics(timeout=30).brokers.values()
        self.bootstrap = f"{broker.host}:{broker.port}"
        self._owner.list_topics(TOPIC, timeout=30)
        found = self._owner.list_topics(TOPIC, timeout=30).topics[TOPIC]
        self.partitions = len(found.partitions)

    def ends(self) -> dict[str, dict[str, int]]:
        client = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "ends"})
        ends = {
            str(number): client.get_watermark_offsets(TopicPartition(TOPIC, number), timeout=20)[1]
            for number in range(self.partitions)
        }
        client.close()
        return {TOPIC: ends}


@pytest.fixture
def api() -> Iterator[ControlApi]:
    server = ControlApi()
    yield server
    server.stop()


@pytest.fixture
def pods(
    server: Server, api: ControlApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Pods, MockKafka]]:
    kafka = MockKafka()
    for name, value in server.settings().variables().items():
        monkeypatch.setenv(name, value)
    plan = plan_document(cast("LocalKafka", kafka), TOPIC, kafka.partitions)
    yield Pods(tmp_path / "pods", api, plan), kafka
    while Pods.started:
        process = Pods.started.pop()
        process.kill()
        process.wait()


def test_ledgers_over_a_store_that_was_dead_for_a_while_balance(
    pods: tuple[Pods, MockKafka], server: Server, api: ControlApi, tmp_path: Path
) -> None:
    run, kafka = pods
    store = server.store()

    def written(table: str) -> int:
        parts = (
            parse_part(entry.key.rpartition("/")[2]) for entry in store.list(f"ns/t/run-1/{table}")
        )
        return max((part.generation + 1 for part in parts if part), default=0)

    api.set("Produce")
    producer = run.start("producer", "main", "p1")
    consumer = run.start("consumer", "read", "c1")
    until(lambda: written("produce") > 2 and written("consume") > 2)
    server.kill()
    until(lambda: "waiting for the evidence store" in run.log("p1") + run.log("c1"))
    assert producer.poll() is None
    # The time that the store is away for is what is tested.
    with pytest.raises(Exception, match="timed out"):
        producer.wait(DEAD_SECONDS)
    server.start()
    until(lambda: '"krt":"evidence"' in run.log("p1") and '"krt":"evidence"' in run.log("c1"))
    api.set("StopProducing")
    assert producer.wait(120) == 0, run.log("p1")
    api.set("Drain", kafka.ends())
    assert consumer.wait(120) == 0, run.log("c1")

    fetch(store, "ns/t/run-1", tmp_path / "copy")

    def rows(table: str) -> list[dict[str, Any]]:
        files = sorted((tmp_path / "copy" / table).glob("*.parquet"))
        return [row for file in files for row in pq.read_table(file).to_pylist()]

    sends, deliveries = rows("produce"), rows("consume")
    (summary,) = rows("producer_summary")
    assert sorted(row["seq"] for row in sends) == list(range(len(sends)))
    assert len(sends) > 500 * DEAD_SECONDS
    assert summary["attempted"] == summary["acked"] == len(sends)
    places = [(row["partition"], row["offset"]) for row in deliveries]
    assert len(places) == len(set(places)) == len(sends)
    counted = [row["event_seq"] for row in deliveries + rows("consumer_events")]
    assert sorted(counted) == list(range(len(counted)))
