"""The answers to admin requests of a broker that answers, and where none does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import AdminClient
from tests.contract.traffic.local_kafka import LocalKafka, wait_until

from krt_contract.faults import AdminRequest
from krt_contract.kafka_login import PLAINTEXT
from krt_traffic.clock import wall
from krt_traffic.recorder import admin_requests
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ALL = tuple(AdminRequest)


def answers(folder: Path) -> dict[str, dict[str, Any]]:
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    events = [json.loads(line) for line in lines]
    return {
        item["detail"]["request"]: item["detail"]
        for item in events
        if item["source"] == "admin-request"
    }


def test_injected_fault_has_each_request_sent_once(kafka: LocalKafka, tmp_path: Path) -> None:
    kafka.create_topic("asked", 1)
    timeline = Timeline(tmp_path, "r1")
    failures = Failures(lambda: None)
    requests = admin_requests.AdminRequests(
        kafka.bootstrap,
        {"down": ALL},
        "asked",
        1,
        timeline,
        login=PLAINTEXT,
        failures=failures,
    )
    requests.injected("down", wall() - admin_requests.STALE_MICROS - 1)
    requests.injected("other", wall())
    requests.injected("down", wall())
    wait_until("all are answered", lambda: answers(tmp_path).keys() == set(ALL))
    assert {item["answer"] for item in answers(tmp_path).values()} == {"Answered"}
    assert timeline.counts["events"] == len(ALL)
    failures.check()
    timeline.close()


def test_answer_of_a_refused_request_is_refused_with_its_error(kafka: LocalKafka) -> None:
    client = AdminClient({"bootstrap.servers": kafka.bootstrap})
    answer = admin_requests.answer_of(
        lambda: admin_requests.create_topic(client, "too-many-replicas", 3)
    )
    assert answer == ("Refused", "INVALID_REPLICATION_FACTOR")


def test_answer_of_a_request_without_brokers_is_timed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_requests, "ANSWER_SECONDS", 1.0)
    client = AdminClient({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    for call in (
        lambda: admin_requests.create_topic(client, "x", 1),
        lambda: admin_requests.describe_configs(client, "x"),
        lambda: admin_requests.list_topics(client),
    ):
        assert admin_requests.answer_of(call)[0] == "TimedOut"
