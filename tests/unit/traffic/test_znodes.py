from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.traffic.timelines import recorded, wait_for
from tests.unit.traffic.zookeeper_double import Stat, Tree

from krt_traffic.recorder import znodes
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.timeline import Timeline
from krt_traffic.recorder.znodes import Znodes

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000


class Clock:
    """Wall and monotonic time in µs, moved by the test."""

    def __init__(self) -> None:
        self.now = 5 * SECOND

    def both(self) -> tuple[int, int]:
        return self.now, self.now


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> Tree:
    tree = Tree()
    monkeypatch.setattr(znodes, "KazooClient", tree.client)
    monkeypatch.setattr(znodes, "STOP_SECONDS", 0.2)
    return tree


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(znodes, "both", clock.both)
    return clock


def following(folder: Path) -> Znodes:
    found = Znodes("zk:2181", Timeline(folder, "r1"), Failures(threading.Event().set))
    found.start()
    return found


def gaps(folder: Path) -> list[dict[str, Any]]:
    return [item["detail"] for item in recorded(folder) if item["event"] == "gap"]


def test_stop_while_zookeeper_is_silent_records_the_silence_to_the_end(
    tree: Tree, clock: Clock, tmp_path: Path
) -> None:
    following_znodes = following(tmp_path)
    wait_for(lambda: following_znodes.connected)
    tree.silent.set()
    clock.now += 3 * SECOND
    following_znodes.stop()
    assert gaps(tmp_path) == [
        {"stream": "zookeeper", "from": 5 * SECOND, "to": 8 * SECOND, "atEnd": True}
    ]


def test_stop_before_the_first_answer_records_a_silence_from_the_start(
    tree: Tree, clock: Clock, tmp_path: Path
) -> None:
    tree.silent.set()
    following_znodes = following(tmp_path)
    clock.now += 3 * SECOND
    following_znodes.stop()
    assert [(gap["from"], gap["atEnd"]) for gap in gaps(tmp_path)] == [(5 * SECOND, True)]


@pytest.mark.usefixtures("tree", "clock")
def test_stop_while_zookeeper_answers_records_no_silence(tmp_path: Path) -> None:
    following_znodes = following(tmp_path)
    wait_for(lambda: following_znodes.connected)
    following_znodes.stop()
    assert gaps(tmp_path) == []


def test_controller_whose_epoch_was_not_read_is_recorded_by_the_next_scan(
    tree: Tree, tmp_path: Path
) -> None:
    tree.nodes["/controller"] = (json.dumps({"brokerid": 2}).encode(), Stat(czxid=7))
    tree.nodes["/controller_epoch"] = (b"3", Stat())
    tree.losses.add("/controller_epoch")
    following_znodes = following(tmp_path)
    wait_for(lambda: bool(recorded(tmp_path)))
    following_znodes.stop()
    (elected,) = recorded(tmp_path)
    assert (elected["event"], elected["subject"]) == ("elected", "2")
    assert elected["detail"] == {"epoch": 3}


def test_partition_state_is_recorded_once_with_its_version(tree: Tree, tmp_path: Path) -> None:
    state = {"leader": 1, "leader_epoch": 4, "isr": [1, 2], "controller_epoch": 1}
    tree.nodes["/brokers/topics/foo/partitions/0/state"] = (
        json.dumps(state).encode(),
        Stat(version=6),
    )
    tree.losses.add("/controller")
    following_znodes = following(tmp_path)
    wait_for(lambda: following_znodes.connected and bool(recorded(tmp_path)))
    following_znodes.stop()
    (event,) = recorded(tmp_path)
    assert (event["subject"], event["at"]) == ("foo-0", 2 * SECOND)
    assert event["detail"]["version"] == 6
