from __future__ import annotations

import json

from krt_traffic.consumer.event_buffer import EventBuffer
from krt_traffic.consumer.fetching import Fetching


def test_take_of_repeated_statistics_records_a_change_of_broker_once() -> None:
    buffer = EventBuffer("read-0", "u1", "g", processes_at_once=True)
    fetching = Fetching(buffer)

    def partition(broker: int, state: str = "active") -> str:
        found = {"partition": 0, "broker": broker, "leader": 1, "fetch_state": state}
        # librdkafka keeps under -1 what it cannot attribute to a partition.
        internal = {"partition": -1, "broker": -1, "leader": -1, "fetch_state": "none"}
        partitions = {"-1": internal, "0": found}
        return json.dumps({"topics": {"foo": {"topic": "foo", "partitions": partitions}}})

    for text in (partition(1), partition(1), partition(2), partition(3, "stopped"), "{}"):
        fetching.take(text)
    rows = buffer.events().to_pylist()
    assert [(row["event"], row["topic"], row["partition"]) for row in rows] == [
        ("fetching", "foo", 0)
    ] * 2
    assert [json.loads(row["detail"])["broker"] for row in rows] == [1, 2]


def test_settings_ask_for_statistics_only_where_the_client_has_a_rack() -> None:
    fetching = Fetching(EventBuffer("read-0", "u1", "g", processes_at_once=True))
    assert fetching.settings({"group.id": "g"}) == {"group.id": "g"}
    assert fetching.settings({"client.rack": "a"})["stats_cb"] == fetching.take
