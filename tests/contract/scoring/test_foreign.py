"""What Kafka's own tools print today, imported and judged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.scoring.verifiable import Tools

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.traffic.local_kafka import LocalKafka

RECORDS = 1_500
SURVIVOR, KILLED = "consumer-g-1", "consumer-g-2"


@pytest.fixture(scope="module")
def history(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two producers, a member that is killed while it reads, and one that reads on."""
    folder = tmp_path_factory.mktemp("history")
    kafka.create_topic("verifiable", 2)
    tools = Tools(kafka, folder)
    try:
        for member in ("1", "2"):
            # 6 s is the least the broker allows.
            tools.consume("g", member, "verifiable", "--session-timeout", "6000")
        tools.await_event(SURVIVOR, "partitions_assigned")
        tools.await_event(KILLED, "partitions_assigned")
        limit = ("--max-messages", str(RECORDS), "--throughput", "500")
        for name in ("1", "2"):
            tools.produce(name, "verifiable", *limit, "--value-prefix", name)
        tools.await_event(KILLED, "record_data", 50)
        tools.kill(KILLED)
        for name in ("1", "2"):
            tools.finish(f"producer-{name}")
        tools.await_event(SURVIVOR, "record_data", _left(tools))
        tools.stop(SURVIVOR)
    finally:
        tools.close()
    (folder / "history.json").write_text(json.dumps({"killed": [KILLED]}))
    return folder


def _left(tools: Tools) -> int:
    """Records that the killed member did not print, which the other must."""
    return 2 * RECORDS - tools.count(KILLED, "record_data")


def score(root: Path, out: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "krt_scoring.cli", "--from", "verifiable", str(root)]
    subprocess.run([*command, "--cores", "2", "--out", str(out)], check=True)
    card: dict[str, Any] = json.loads(out.read_text())
    return card


def found(card: dict[str, Any]) -> dict[str, tuple[int, str]]:
    return {
        name: (item["count"], item["class"])
        for name, item in card["anomalies"].items()
        if item["count"]
    }


def test_a_real_history_is_judged(history: Path, tmp_path: Path) -> None:
    card = score(history, tmp_path / "card.json")
    assert (card["verdict"], card["reasons"]) == ("Passed", [])
    ledger = card["ledger"]
    assert (ledger["acked"], ledger["delivered"], ledger["balanced"]) == (
        2 * RECORDS,
        2 * RECORDS,
        1,
    )
    # A killed member's last poll may come again; nothing else may be out of the ordinary.
    assert {name for name, (_, cls) in found(card).items() if cls == "Violation"} == set()
    assert found(card).keys() <= {"duplicate-delivery"}


def test_a_record_the_consumers_never_got_is_lost(history: Path, tmp_path: Path) -> None:
    root = tmp_path / "history"
    shutil.copytree(history, root)
    path = root / f"{SURVIVOR}.jsonl"
    value = _drop_one(path)
    card = score(root, tmp_path / "card.json")
    assert (card["verdict"], card["score"]) == ("Failed", 0)
    assert found(card)["lost-write"] == (1, "Violation")
    (example,) = card["anomalies"]["lost-write"]["examples"]
    assert f"{example['producer'].removesuffix('-0')}.{example['seq']}" == value


def _drop_one(path: Path) -> str:
    """Take the first record of the last poll of two or more out of the consumer's output."""
    events = [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
    polls = [
        number
        for number, event in enumerate(events)
        if event["name"] == "records_consumed" and event["count"] > 1
    ]
    summary = events[polls[-1]]
    (place, *_) = summary["partitions"]
    victim = next(
        number
        for number, event in enumerate(events)
        if event["name"] == "record_data"
        and (event["partition"], event["offset"]) == (place["partition"], place["minOffset"])
    )
    place["count"] -= 1
    summary["count"] -= 1
    value: str = events.pop(victim)["value"]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return value
