from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from tests.contract.traffic.local_kafka import LocalKafka, wait_until

from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.quorum import WITHOUT, mode
from krt_traffic.recorder.timeline import Timeline
from krt_traffic.recorder.znodes import Znodes

if TYPE_CHECKING:
    from pathlib import Path


def fail() -> None:
    raise AssertionError("a thread of the recorder failed; its traceback is in the log")


def events(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]


def subjects(folder: Path, source: str, event: str) -> list[str]:
    return [
        item["subject"]
        for item in events(folder)
        if item["source"] == source and item["event"] == event
    ]


def test_znodes_across_an_outage_record_brokers_controllers_and_partition_states(
    own_kafka: LocalKafka, tmp_path: Path
) -> None:
    timeline = Timeline(tmp_path, "r1")
    znodes = Znodes(own_kafka.zookeeper, timeline, Failures(fail))
    znodes.start()  # before ZooKeeper is there, as in a run
    own_kafka.start()
    own_kafka.create_topic("seen", 2)
    wait_until(
        "both partitions are recorded",
        lambda: set(subjects(tmp_path, "partition", "state")) >= {"seen-0", "seen-1"},
    )
    assert subjects(tmp_path, "broker", "registered") == ["0"]
    assert subjects(tmp_path, "controller", "elected") == ["0"]
    state = next(item for item in events(tmp_path) if item["subject"] == "seen-0")
    assert state["detail"]["isr"] == [0]
    assert state["detail"]["leader_epoch"] == 0
    assert state["at"] == state["detail"]["mtime"]

    own_kafka.kill("broker")
    wait_until("the session is over", lambda: subjects(tmp_path, "broker", "unregistered"))
    wait_until("no controller is left", lambda: subjects(tmp_path, "controller", "vacant"))

    own_kafka.kill("zookeeper")
    assert mode(own_kafka.zookeeper) == WITHOUT
    own_kafka.start_zookeeper()
    wait_until("ZooKeeper serves", lambda: mode(own_kafka.zookeeper) == "standalone")
    own_kafka.start_broker()
    wait_until(
        "the broker is recorded again",
        lambda: subjects(tmp_path, "broker", "registered") == ["0", "0"],
    )
    own_kafka.create_topic("later", 1)
    wait_until(
        "a new topic is recorded", lambda: "later-0" in subjects(tmp_path, "partition", "state")
    )
    assert subjects(tmp_path, "partition", "state").count("seen-0") == 1
    znodes.stop()
    timeline.close()


def test_znodes_of_a_frozen_zookeeper_record_a_gap(own_kafka: LocalKafka, tmp_path: Path) -> None:
    own_kafka.prepare()
    own_kafka.start_zookeeper()
    timeline = Timeline(tmp_path, "r1")
    znodes = Znodes(own_kafka.zookeeper, timeline, Failures(fail))
    znodes.start()
    wait_until("the session is there", lambda: znodes.connected)
    own_kafka.signal("zookeeper", signal.SIGSTOP)
    wait_until("the session is lost", lambda: not znodes.connected)
    own_kafka.signal("zookeeper", signal.SIGCONT)
    wait_until("the gap is recorded", lambda: subjects(tmp_path, "recorder", "gap"))
    gap = next(item["detail"] for item in events(tmp_path))
    assert gap["stream"] == "zookeeper"
    assert gap["to"] - gap["from"] > 1_000_000
    znodes.stop()
    timeline.close()


def test_znodes_stopped_while_zookeeper_is_frozen_records_a_gap_to_the_end(
    own_kafka: LocalKafka, tmp_path: Path
) -> None:
    own_kafka.prepare()
    own_kafka.start_zookeeper()
    timeline = Timeline(tmp_path, "r1")
    failures = Failures(fail)
    znodes = Znodes(own_kafka.zookeeper, timeline, failures)
    znodes.start()
    wait_until("the session is there", lambda: znodes.connected)
    own_kafka.signal("zookeeper", signal.SIGSTOP)
    wait_until("the session is lost", lambda: not znodes.connected)
    znodes.stop()
    failures.check()
    gap = events(tmp_path)[-1]
    assert (gap["event"], gap["detail"]["stream"]) == ("gap", "zookeeper")
    assert gap["detail"]["atEnd"] is True
    own_kafka.signal("zookeeper", signal.SIGCONT)
    timeline.close()
