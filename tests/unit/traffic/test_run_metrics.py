from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.traffic.plans import document
from tests.unit.traffic.scrapes import scrape
from tests.unit.traffic.timelines import refuse_once

from krt_contract.metrics import RECORDER_METRICS
from krt_traffic.errors import RecordingError
from krt_traffic.plan import load
from krt_traffic.recorder.metrics import RunMetrics
from krt_traffic.recorder.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = [
    {"name": "crash", "action": "CrashPod"},
]


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    return Timeline(tmp_path / "timeline", "r1")


@pytest.fixture
def metrics(tmp_path: Path, timeline: Timeline) -> RunMetrics:
    plan = document()
    plan["spec"]["faults"] = FAULTS
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    found = RunMetrics(load(path), timeline.counts)
    timeline.observers.append(found.observe)
    return found


def state(leader: int, *isr: int) -> dict[str, Any]:
    return {"leader": leader, "leader_epoch": 1, "isr": list(isr), "controller_epoch": 1}


def test_phase_is_the_one_that_was_entered_last(timeline: Timeline, metrics: RunMetrics) -> None:
    timeline.write("phase", "entered", "Warmup")
    timeline.write("phase", "entered", "Injecting")
    found = scrape(metrics)
    assert found["krt_test_phase{t,Warmup}"] == 0
    assert found["krt_test_phase{t,Injecting}"] == 1


def test_fault_is_active_until_it_is_reverted(timeline: Timeline, metrics: RunMetrics) -> None:
    name = "krt_fault_active{t,crash,CrashPod}"
    assert scrape(metrics)[name] == 0
    timeline.write("fault", "injected", "crash")
    timeline.write("fault", "observed", "crash")
    assert scrape(metrics)[name] == 1
    timeline.write("fault", "reverted", "crash")
    assert scrape(metrics)[name] == 0


def test_partitions_have_leader_and_isr_where_the_topic_is_of_the_test(
    timeline: Timeline, metrics: RunMetrics
) -> None:
    timeline.write("partition", "state", "foo-0", state(1, 1, 2, 0))
    timeline.write("partition", "state", "foo-1", state(2, 2, 0))
    timeline.write("partition", "state", "foo-2", state(-1, 0))
    timeline.write("partition", "state", "__consumer_offsets-17", state(-1, 0))
    timeline.write("partition", "sequence-refused", "foo-0", {})
    found = scrape(metrics)
    assert found["krt_partition_leader{t,foo,2}"] == -1
    assert found["krt_partition_isr_size{t,foo,1}"] == 2
    assert "krt_partition_leader{t,__consumer_offsets,17}" not in found
    assert found["krt_offline_partitions{t}"] == 2
    assert found["krt_under_replicated_partitions{t}"] == 2


def test_internal_partition_is_under_replicated_once_it_has_had_more_replicas(
    timeline: Timeline, metrics: RunMetrics
) -> None:
    timeline.write("partition", "state", "__consumer_offsets-0", state(0, 0, 1, 2))
    assert scrape(metrics)["krt_under_replicated_partitions{t}"] == 0
    timeline.write("partition", "state", "__consumer_offsets-0", state(1, 1, 2))
    assert scrape(metrics)["krt_under_replicated_partitions{t}"] == 1


def test_broker_is_available_while_registered_and_not_fenced(
    timeline: Timeline, metrics: RunMetrics
) -> None:
    def available(broker: str) -> float:
        return scrape(metrics)[f"krt_broker_available{{t,{broker}}}"]

    timeline.write("broker", "registered", "0", {"epoch": 1})
    assert available("0") == 1
    timeline.write("broker", "unregistered", "0", {"epoch": 1})
    assert available("0") == 0
    timeline.write("broker", "registered", "1", {"epoch": 1, "fenced": True})
    assert available("1") == 0
    timeline.write("broker", "unfenced", "1", {"epoch": 1})
    timeline.write("broker", "shutting-down", "1", {"epoch": 1})
    assert available("1") == 1
    timeline.write("broker", "fenced", "1", {"epoch": 1})
    assert available("1") == 0


def test_events_and_gaps_are_counted(timeline: Timeline, metrics: RunMetrics) -> None:
    timeline.write("recorder", "started", "recorder")
    timeline.gap("pods", 0, 2_000_000)
    found = scrape(metrics)
    assert found["krt_timeline_events_total{t}"] == 2
    assert found["krt_timeline_gaps_total{t}"] == 1


def test_event_that_was_not_written_is_not_shown(
    timeline: Timeline, metrics: RunMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_once(monkeypatch, "entered")
    with pytest.raises(RecordingError):
        timeline.write("phase", "entered", "Warmup")
    assert "krt_test_phase{t,Warmup}" not in scrape(metrics)


def test_metrics_are_those_of_the_contract(metrics: RunMetrics) -> None:
    assert {family.name for family in metrics.collect()} == {
        metric.name.removesuffix("_total") for metric in RECORDER_METRICS
    }
