"""A recorder that cannot write ends at once, with the cause, and never as if all were well."""

from __future__ import annotations

import errno
import itertools
import json
import os
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.traffic.api_server import Answer, ApiServer, config_map, list_of
from tests.unit.traffic.plans import load_plan
from tests.unit.traffic.timelines import T0, recorded, wait_for
from tests.unit.traffic.zookeeper_double import Stat, Tree

from krt_contract import bundle
from krt_contract.control import ControlState
from krt_contract.exits import TrafficExit
from krt_contract.faults import AdminAnswer
from krt_contract.fetch import fetch
from krt_contract.sinks import folder, lines, patience
from krt_contract.sinks.store import StoreSink
from krt_contract.stores.folder import FolderStore
from krt_contract.stores.store import StoreError
from krt_contract.timeline import EVIDENCE, TimelineWriter
from krt_traffic.control import Control, Instruction
from krt_traffic.environment import Environment
from krt_traffic.kubernetes.client import KubernetesClient
from krt_traffic.recorder import admin_requests, logs, quorum, run, znodes
from krt_traffic.recorder.run_json import RunJson
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_contract.plan import Plan
    from krt_contract.timeline import Event

DISK_FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
BROKEN = OSError(errno.EIO, os.strerror(errno.EIO))

POD: dict[str, object] = {
    "metadata": {
        "name": "t-kafka-0-0",
        "uid": "u1",
        "resourceVersion": "3",
        "creationTimestamp": T0,
        "labels": {"app.kubernetes.io/component": "kafka", "kafkaresilience.dev/member": "kafka-0"},
    },
    "status": {
        "containerStatuses": [
            {
                "name": "kafka",
                "imageID": "sha256:1",
                "containerID": "c1",
                "state": {"running": {"startedAt": T0}},
            }
        ]
    },
}
LINES = b"2026-11-21T04:03:21.1Z first\n2026-11-21T04:03:21.2Z second\n"


def resource() -> dict[str, object]:
    """The test, into which a fault was injected just now."""
    now = datetime.now(UTC).isoformat()
    return {
        "metadata": {"name": "t", "resourceVersion": "4"},
        "status": {
            "phases": [{"name": "Injecting", "startTime": now}],
            "faults": [{"name": "down", "state": "Active", "injectedAt": now}],
        },
    }


@dataclass
class Recorder:
    """A recorder over doubles of Kubernetes and ZooKeeper, run by a thread of the test."""

    folder: Path
    api: ApiServer
    control: Control
    requests: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.termination = self.folder / "termination"
        self._status: list[int] = []

    def start(self) -> None:
        plan = load_plan(self.folder)
        spec = dict(plan.resolved_spec) | {
            "faults": [
                {"name": "down", "action": "CrashPod", "adminRequests": self.requests},
            ]
        }
        environment = Environment(
            plan=self.folder / "plan.json",
            evidence=self.folder,
            control="t-control",
            namespace="ns",
            test="t",
            test_uid="u",
            pod="t-recorder",
            pod_uid="r1",
            termination_log=self.termination,
        )
        client = KubernetesClient.from_environment("ns", {"KRT_API": self.api.url})

        def work() -> None:
            self._status.append(
                run.run(client, environment, replace(plan, resolved_spec=spec), self.control)
            )

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def exit_status(self) -> int:
        self._thread.join(30)
        assert not self._thread.is_alive(), "the recorder did not end"
        return self._status[0]

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.termination.read_text())
        return message

    @property
    def events(self) -> list[tuple[str, str]]:
        timeline = self.folder / "ns/t/u/timeline"
        return [(item["source"], item["event"]) for item in recorded(timeline)]


@pytest.fixture
def recorder(api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    tree = Tree({"/brokers/ids/0": (b'{"host": "b"}', Stat())})
    monkeypatch.setattr(znodes, "KazooClient", tree.client)
    monkeypatch.setattr(quorum, "mode", lambda *_: "leader")
    monkeypatch.setattr(quorum, "INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(admin_requests, "SETTLE_SECONDS", 0.01)
    monkeypatch.setattr(admin_requests, "AdminClient", lambda _settings: None)
    monkeypatch.setattr(
        admin_requests, "answer_of", lambda _call: (AdminAnswer.ANSWERED, "NO_ERROR")
    )
    api.by_kind["pods"] = [list_of("3", POD)]
    api.by_kind["kafkaresiliencetests"] = [list_of("4", resource())]
    api.by_kind["configmaps"] = [list_of("5", config_map("5"))]
    api.by_kind["log"] = [Answer(LINES, stays_open=True)]
    return Recorder(tmp_path, api, Control())


def refuse(monkeypatch: pytest.MonkeyPatch, *kinds: tuple[str, str]) -> None:
    """Let the volume refuse the events of these sources and names."""
    write = TimelineWriter.write

    def refusing(writer: TimelineWriter, event: Event) -> None:
        if (event.source, event.event) in kinds:
            raise DISK_FULL
        write(writer, event)

    monkeypatch.setattr(TimelineWriter, "write", refusing)


THREADS = {
    "watch of pods": ("pod", "running"),
    "watch of the test": ("phase", "entered"),
    "znodes": ("broker", "registered"),
    "quorum": ("zookeeper", "leader"),
    "admin request": ("admin-request", "answered"),
}


@pytest.mark.parametrize("thread", sorted(THREADS))
def test_run_with_a_full_volume_in_any_thread_ends_with_the_remedy(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, thread: str
) -> None:
    refuse(monkeypatch, THREADS[thread])
    recorder.requests = ("ListTopics",) if thread == "admin request" else ()
    recorder.start()
    assert recorder.exit_status() == TrafficExit.NOT_RECORDED
    assert recorder.message["reason"] == "failed"
    assert "No space left on device" in recorder.message["error"]
    assert "spec.evidence" in recorder.message["error"]
    assert ("recorder", "started") in recorder.events
    assert ("recorder", "stopped") not in recorder.events


def test_run_whose_log_files_cannot_be_written_ends_with_the_remedy(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = lines.append

    def full(descriptor: int, data: bytes) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".log":
            raise DISK_FULL
        append(descriptor, data)

    monkeypatch.setattr(lines, "append", full)
    recorder.start()
    assert recorder.exit_status() == TrafficExit.NOT_RECORDED
    assert (
        "logs/t-kafka-0-0-u1.log could not be written into the evidence (No space left on device)"
        in recorder.message["error"]
    )
    assert ("recorder", "stopped") not in recorder.events


def test_run_whose_run_json_cannot_be_replaced_ends_with_the_remedy(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = bundle.write_json, itertools.count()

    def full(path: Path, document: dict[str, Any]) -> None:
        if next(calls):
            raise BROKEN
        write(path, document)

    monkeypatch.setattr(folder, "write_json", full)
    recorder.start()
    assert recorder.exit_status() == TrafficExit.NOT_RECORDED
    assert (
        "run.json could not be written into the evidence (Input/output error)"
        in recorder.message["error"]
    )


def test_run_that_cannot_record_its_own_suspension_ends_with_the_remedy(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = itertools.count(0, 5_000_000)
    monkeypatch.setattr(run, "mono", lambda: next(steps))
    refuse(monkeypatch, ("recorder", "gap"))
    recorder.start()
    assert recorder.exit_status() == TrafficExit.NOT_RECORDED
    assert ("recorder", "stopped") not in recorder.events


def test_run_with_a_volume_that_lost_what_it_took_never_says_it_stopped(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(_writer: TimelineWriter) -> None:
        raise BROKEN

    monkeypatch.setattr(TimelineWriter, "sync", lose)
    recorder.start()
    wait_for(lambda: recorder.control.instruction is not None)
    recorder.control.update(Instruction(ControlState.DONE))
    assert recorder.exit_status() == TrafficExit.NOT_RECORDED
    assert ("recorder", "stopped") not in recorder.events


def test_run_with_a_volume_that_is_full_from_the_start_ends_with_the_remedy(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, ("recorder", "started"))
    recorder.start()
    assert recorder.exit_status() == TrafficExit.NOT_RECORDED
    assert "No space left on device" in recorder.message["error"]


def test_run_whose_thread_meets_a_defect_names_the_thread(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> str:
        raise KeyError("mode")

    monkeypatch.setattr(quorum, "mode", crash)
    recorder.start()
    assert recorder.exit_status() == TrafficExit.NOT_RECORDED
    assert "thread quorum failed: KeyError('mode')" in recorder.message["error"]
    assert ("recorder", "stopped") not in recorder.events


def test_run_terminated_before_the_run_is_done_never_says_it_stopped(recorder: Recorder) -> None:
    recorder.start()
    wait_for(lambda: recorder.control.instruction is not None)
    recorder.control.terminate()
    assert recorder.exit_status() == TrafficExit.DONE
    assert recorder.message["reason"] == "aborted"
    assert ("recorder", "stopped") not in recorder.events


def test_run_on_a_sound_volume_stops_in_order(recorder: Recorder) -> None:
    recorder.requests = ("ListTopics",)
    recorder.start()
    log = recorder.folder / "ns/t/u/logs/t-kafka-0-0-u1.log"
    expected = {*THREADS.values()}
    wait_for(lambda: recorder.control.instruction is not None)
    wait_for(lambda: expected <= {*recorder.events} and log.exists() and log.stat().st_size > 0)
    recorder.control.update(Instruction(ControlState.DONE))
    assert recorder.exit_status() == TrafficExit.DONE
    assert recorder.message["reason"] == "finished"
    assert recorder.message["counts"]["events"] == len(recorder.events)
    assert recorder.events[-1] == ("recorder", "stopped")
    assert log.read_bytes() == LINES


def test_run_into_an_object_store_leaves_the_same_bundle_and_the_times_it_was_unavailable(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(recorder.folder / "objects")
    opened: list[StoreSink] = []

    def open_sink(_: Environment, plan: Plan, report: Callable[[int, int], None]) -> StoreSink:
        opened.append(StoreSink(store, plan.bundle, report))
        report(1_000_000, 9_000_000)
        return opened[0]

    monkeypatch.setattr(run, "open_sink", open_sink)
    recorder.start()
    wait_for(lambda: recorder.control.instruction is not None)
    wait_for(lambda: any("/logs/" in entry.key for entry in store.list("")))
    recorder.control.update(Instruction(ControlState.DONE))
    assert recorder.exit_status() == TrafficExit.DONE
    root = recorder.folder / "ns/t/u"
    fetch(store, "ns/t/u", root)
    assert (root / "logs/t-kafka-0-0-u1.log").read_bytes() == LINES
    assert json.loads((root / "run.json").read_text())["imageIds"] == {"kafka": ["sha256:1"]}
    assert recorder.message["counts"]["events"] == len(recorder.events)
    assert recorder.events[0] == ("recorder", "started")
    assert recorder.events[-1] == ("recorder", "stopped")
    gaps = [item["detail"] for item in recorded(root / "timeline") if item["event"] == "gap"]
    assert {"from": 1_000_000, "to": 9_000_000, "stream": "evidence"} in gaps


class Unreliable(FolderStore):
    """A store that may be unavailable, and that takes its time for logs.

    Attributes:
        unavailable: while it is set, puts are refused.
        part: of which keys only; empty for all.
        refused: the keys of these puts.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.unavailable, self.part = threading.Event(), ""
        self.refused: list[str] = []

    def put(self, key: str, data: bytes) -> None:
        if self.unavailable.is_set() and self.part in key:
            self.refused.append(key)
            raise StoreError("unavailable")
        if "/logs/" in key:
            time.sleep(0.3)
        super().put(key, data)

    def has(self, folder: str) -> bool:
        return any(f"/{folder}/" in entry.key for entry in self.list(""))


def test_run_that_ends_while_the_store_is_unavailable_ends_with_whole_logs(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, last = LINES, b'2026-11-21T04:03:21.3Z {"krt":"evidence","from":1000000,"to":9000000}\n'
    store = Unreliable(recorder.folder / "objects")
    leaders, noted = ["z0:2181"], threading.Event()

    class Noted(Timeline):
        def gap(self, stream: str, start: int, end: int, *, at_end: bool = False) -> None:
            super().gap(stream, start, end, at_end=at_end)
            if stream == EVIDENCE:
                noted.set()

    def open_sink(_: Environment, plan: Plan, report: Callable[[int, int], None]) -> StoreSink:
        return StoreSink(store, plan.bundle, report)

    monkeypatch.setattr(run, "open_sink", open_sink)
    monkeypatch.setattr(run, "Timeline", Noted)
    monkeypatch.setattr(
        quorum, "mode", lambda address, _: "leader" if address == leaders[-1] else "follower"
    )
    monkeypatch.setattr(patience, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(logs, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(logs, "JOIN_SECONDS", 1.0)
    recorder.api.by_kind["log"] = [Answer(first), *[Answer()] * 1000]
    recorder.start()
    wait_for(lambda: recorder.control.instruction is not None)
    wait_for(lambda: store.has("logs") and store.has("timeline"))
    store.unavailable.set()
    leaders.append("z1:2181")
    wait_for(lambda: any("/timeline/" in key for key in store.refused))
    recorder.api.by_kind["log"].insert(0, Answer(last))
    assert noted.wait(10)
    recorder.control.update(Instruction(ControlState.DONE))
    tries = len(store.refused)
    # Longer than the end waits for a log.
    wait_for(lambda: len(store.refused) > tries + 75)
    store.unavailable.clear()
    assert recorder.exit_status() == TrafficExit.DONE
    fetch(store, "ns/t/u", recorder.folder / "ns/t/u")
    assert (recorder.folder / "ns/t/u/logs/t-kafka-0-0-u1.log").read_bytes() == first + last
    assert recorder.events[-1] == ("recorder", "stopped")


def test_run_whose_run_json_waits_for_the_store_goes_on_watching_pods(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Unreliable(recorder.folder / "objects")
    store.part = "/run-"

    class Written(RunJson):
        def __init__(self, *of_the_run: Any) -> None:
            super().__init__(*of_the_run)
            store.unavailable.set()

    def open_sink(_: Environment, plan: Plan, report: Callable[[int, int], None]) -> StoreSink:
        return StoreSink(store, plan.bundle, report)

    monkeypatch.setattr(run, "open_sink", open_sink)
    monkeypatch.setattr(run, "RunJson", Written)
    recorder.start()
    wait_for(lambda: bool(store.refused))
    # The watch makes who follows a log after it has looked at the image.
    wait_for(lambda: store.has("logs"))
    recorder.control.update(Instruction(ControlState.DONE))
    store.unavailable.clear()
    assert recorder.exit_status() == TrafficExit.DONE
    fetch(store, "ns/t/u", recorder.folder / "ns/t/u")
    document = json.loads((recorder.folder / "ns/t/u/run.json").read_text())
    assert document["imageIds"] == {"kafka": ["sha256:1"]}
