"""Kafka's own tools against a deployed cluster, their output judged by krt-score."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from kit.run import Run, score, small
from kit.verifiable import Tools

if TYPE_CHECKING:
    from pathlib import Path

    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long]

TOPIC, RECORDS = "verifiable", 1000
CONSUMER, PRODUCERS = "consumer-g-1", ("producer-1", "producer-2")
FAULT_TO_COME = {
    "name": "never-reached",
    "delay": "10m",
    "action": "DeletePod",
    "target": {"role": "Consumer", "count": 1},
    "duration": "0s",
}
"""Keeps the cluster up while the tools work; the namespace is deleted before it is due."""


@pytest.fixture(scope="module")
def history(module_kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Run.apply(module_kubectl, small("foreign", faults=[FAULT_TO_COME]))
    run.reach("Injecting")
    selector = "kafkaresilience.dev/member=kafka-0"
    (broker,) = module_kubectl.items("pods", "-l", selector)
    bootstrap = json.loads((run.bundle / "run.json").read_text("utf-8"))["bootstrap"]
    tools = Tools(module_kubectl, bootstrap, broker["spec"]["containers"][0]["image"])
    create = ("--create", "--topic", TOPIC, "--partitions", "2", "--replication-factor", "1")
    tools.start("topic", "TopicCommand", *create)
    assert tools.await_end("topic") == 0, module_kubectl("logs", "topic")
    topic = ("--topic", TOPIC)
    tools.start(CONSUMER, "VerifiableConsumer", *topic, "--group-id", "g", "--verbose")
    tools.await_events(CONSUMER, "partitions_assigned")
    for pod in PRODUCERS:
        limit = ("--max-messages", str(RECORDS), "--throughput", "200")
        tools.start(pod, "VerifiableProducer", *topic, *limit, "--value-prefix", pod[-1])
    for pod in PRODUCERS:
        assert tools.await_end(pod) == 0
    tools.await_events(CONSUMER, "record_data", RECORDS * len(PRODUCERS))
    tools.stop(CONSUMER)
    folder = tmp_path_factory.mktemp("history")
    for pod in (*PRODUCERS, CONSUMER):
        tools.save(pod, folder / f"{pod}.jsonl")
    return folder


def scored(folder: Path, out: Path) -> dict[str, Any]:
    score(folder, out, "--from", "verifiable")
    card: dict[str, Any] = json.loads(out.read_text())
    return card


def test_verifiable_history_complete_passes(history: Path, tmp_path: Path) -> None:
    card = scored(history, tmp_path / "card.json")
    assert (card["verdict"], card["inconclusiveReasons"]) == ("Passed", [])
    ledger = card["ledger"]
    assert ledger["acked"] == ledger["delivered"] == RECORDS * len(PRODUCERS)
    assert not [name for name, item in card["anomalies"].items() if item["count"]]


def test_verifiable_history_without_one_delivery_fails_with_a_lost_write(
    history: Path, tmp_path: Path
) -> None:
    """The consumer's output as it would be if Kafka had lost one acknowledged record."""
    changed = tmp_path / "history"
    changed.mkdir()
    for path in history.iterdir():
        (changed / path.name).write_bytes(path.read_bytes())
    path = changed / f"{CONSUMER}.jsonl"
    lines = [line for line in path.read_text().splitlines() if line.startswith("{")]
    events = [json.loads(line) for line in lines]
    victim = next(n for n, event in enumerate(events) if event["name"] == "record_data")
    partition = events.pop(victim)["partition"]
    summary = next(event for event in events[victim:] if event["name"] == "records_consumed")
    for item in summary["partitions"]:
        item["count"] -= item["partition"] == partition
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    card = scored(changed, tmp_path / "card.json")
    assert (card["verdict"], card["score"]) == ("Failed", 0)
    lost = card["anomalies"]["lost-write"]
    assert (lost["count"], lost["detail"]) == (1, {"basisDeliveries": 1})
