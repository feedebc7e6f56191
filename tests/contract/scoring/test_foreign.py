"""What Kafka's own tools print today, imported and judged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.scoring.verifiable import SECONDS, Tools
from tests.contract.traffic.local_kafka import wait_until

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
        # Without keys, chance alone says how much a partition gets: the killed member's, nothing.
        limit = ("--max-messages", str(RECORDS), "--throughput", "500", "--repeating-keys", "16")
        for name in ("1", "2"):
            tools.produce(name, "verifiable", *limit, "--value-prefix", name)
        tools.await_event(KILLED, "record_data", 50)
        tools.kill(KILLED)
        for name in ("1", "2"):
            tools.finish(f"producer-{name}")
        _await_every_record(tools)
        tools.stop(SURVIVOR)
    finally:
        tools.close()
    (folder / "history.json").write_text(json.dumps({"killed": [KILLED]}))
    return folder


def _await_every_record(tools: Tools) -> None:
    """Return when each record was printed by one member or the other.

    The survivor's lines alone do not tell it: some may be of what the killed member had read.
    """
    read = set(tools.records(KILLED))
    wait_until(
        f"{2 * RECORDS} records consumed",
        lambda: len(read.union(tools.records(SURVIVOR))) >= 2 * RECORDS,
        SECONDS,
    )


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
    assert (card["verdict"], card["inconclusiveReasons"]) == ("Passed", [])
    ledger = card["ledger"]
    assert (ledger["acked"], ledger["delivered"], ledger["balanced"]) == (
        2 * RECORDS,
        2 * RECORDS,
        1,
    )
    # A killed member's last poll may come again; nothing else may be out of the ordinary.
    assert {name for name, (_, cls) in found(card).items() if cls == "Violation"} == set()
    assert found(card).keys() <= {"duplicate-delivery"}


def test_a_record_the_consumers_never_got_is_lost(
    kafka: LocalKafka, history: Path, tmp_path: Path
) -> None:
    root = tmp_path / "history"
    shutil.copytree(history, root)
    tools = Tools(kafka, history)
    value = _drop_one(
        root / f"{SURVIVOR}.jsonl", Counter(tools.records(KILLED) + tools.records(SURVIVOR))
    )
    card = score(root, tmp_path / "card.json")
    assert (card["verdict"], card["score"]) == ("Failed", 0)
    assert found(card)["lost-write"] == (1, "Violation")
    (example,) = card["anomalies"]["lost-write"]["examples"]
    assert f"{example['producer'].removesuffix('-0')}.{example['seq']}" == value


def _drop_one(path: Path, deliveries: Counter[str]) -> str:
    """Take one record that was delivered once out of the consumer's output.

    It is the first of its partition in a poll of two or more, the last such poll there is, so
    that the summary printed with the poll stays true.
    """
    events = [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
    at = {
        (event["partition"], event["offset"]): number
        for number, event in enumerate(events)
        if event["name"] == "record_data" and deliveries[event["value"]] == 1
    }
    summary, place = next(
        (event, place)
        for event in reversed(events)
        if event["name"] == "records_consumed" and event["count"] > 1
        for place in event["partitions"]
        if (place["partition"], place["minOffset"]) in at
    )
    victim = at[place["partition"], place["minOffset"]]
    place["count"] -= 1
    summary["count"] -= 1
    value: str = events.pop(victim)["value"]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return value
