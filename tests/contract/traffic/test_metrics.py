"""Producer, consumer and recorder as processes, scraped by a real Prometheus."""

from __future__ import annotations

import json
import re
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.prometheus import Prometheus, programs
from tests.contract.traffic.local_kafka import LocalKafka, wait_until
from tests.contract.traffic.pods import Pods, plan_document
from tests.contract.traffic.test_traffic import acked, end_offsets, wait
from tests.ports import free_port

from krt_contract.metrics import (
    CONSUMER_METRICS,
    MEMBER_METRICS,
    PRODUCER_METRICS,
    RECORDER_METRICS,
    Metric,
    MetricKind,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.traffic.control_api import ControlApi

FILES = Path(__file__).parents[3] / "helm/kafka-resilience/files"
GUIDE = FILES.parents[2] / "docs/how-to/metrics.md"
TIME = "2026-11-21T04:03:19Z"
BOTH = {"main-0", "main-1"}
DELIVERED = "sum(krt_consumer_deliveries_total)"
SLOW = (
    'krt_produce_latency_seconds_count - ignoring(le) krt_produce_latency_seconds_bucket{le="1.0"}'
)
"""Sends that took longer than a second."""

VARIABLES = {"$namespace": ".*", "$test": "t", "$__rate_interval": "5m", "$__range": "5m"}
MAY_BE_EMPTY = {"Consumer events"}
"""Panels that show only what happened within the last minutes."""


@pytest.fixture
def scraped(tmp_path: Path) -> Iterator[tuple[Prometheus, dict[str, int]]]:
    ports = {role: free_port() for role in ("producer", "consumer", "recorder")}
    prometheus = Prometheus(tmp_path / "prometheus", ports)
    yield prometheus, ports
    prometheus.stop()


def text_of(port: int) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


def samples(metrics: tuple[Metric, ...]) -> set[str]:
    suffix = {MetricKind.HISTOGRAM: "_bucket"}
    return {metric.name + suffix.get(metric.kind, "") for metric in metrics}


def panels(file: str) -> Iterator[tuple[str, str]]:
    """Yield title and query of each panel and annotation of a dashboard."""
    dashboard = json.loads((FILES / file).read_text())
    found = [(one["title"], target) for one in dashboard["panels"] for target in one["targets"]]
    found += [(one["name"], one) for one in dashboard.get("annotations", {}).get("list", [])]
    for title, target in found:
        query = target["expr"]
        for name, value in VARIABLES.items():
            query = query.replace(name, value)
        assert "$" not in query
        yield title, query


def without_data(prometheus: Prometheus) -> set[str]:
    return {title for title, query in panels("dashboard-test.json") if not prometheus.query(query)}


def status(fault: dict[str, Any]) -> dict[str, Any]:
    phases = [{"name": name, "startTime": TIME} for name in ("Warmup", "Injecting")]
    return {"metadata": {"name": "t"}, "status": {"phases": phases, "faults": [fault]}}


def test_prometheus_sees_a_run_with_an_outage_and_a_fault(
    own_kafka: LocalKafka,
    api: ControlApi,
    tmp_path: Path,
    scraped: tuple[Prometheus, dict[str, int]],
) -> None:
    prometheus, ports = scraped
    own_kafka.start()
    own_kafka.create_topic("scraped", 2)
    plan = plan_document(own_kafka, "scraped", 2)
    plan["spec"]["faults"] = [{"name": "crash", "action": "CrashPod"}]
    pods = Pods(tmp_path, api, plan)
    api.set("Produce")
    crash = {"name": "crash", "state": "Active", "injectedAt": TIME}
    api.put("kafkaresiliencetests", status(crash))
    recorder = pods.start("recorder", "", "r1", metrics_port=ports["recorder"])
    consumer = pods.start("consumer", "read", "c1", metrics_port=ports["consumer"])
    producer = pods.start("producer", "main", "p1", metrics_port=ports["producer"])
    prometheus.until("sum(up)", 3)
    prometheus.until('krt_broker_available{broker="0"}', 1)
    prometheus.until("sum(krt_consumer_assigned_partitions)", 2)
    prometheus.until("sum(krt_partition_isr_size)", 2)
    wait_until("records are read", lambda: (prometheus.value(DELIVERED) or 0) > 1000)
    prometheus.until('krt_test_phase{phase="Injecting"}', 1)
    prometheus.until('krt_fault_active{fault="crash",action="CrashPod"}', 1)
    prometheus.until("krt_producer_open_outages", 0)
    prometheus.until("count(krt_consumer_lag_records)", 2)
    # A rate needs two scrapes.
    wait_until("every panel shows something", lambda: without_data(prometheus) <= MAY_BE_EMPTY)

    own_kafka.kill("broker")
    prometheus.until("krt_producer_open_outages", 2)
    prometheus.until('krt_broker_available{broker="0"}', 0)
    api.put("kafkaresiliencetests", status({**crash, "revertedAt": TIME}))
    prometheus.until('krt_fault_active{fault="crash"}', 0)
    own_kafka.start_broker()
    prometheus.until('krt_broker_available{broker="0"}', 1)
    prometheus.until("krt_producer_open_outages", 0)
    prometheus.until("count(krt_consumer_lag_records)", 2)
    longest = "max(max_over_time(krt_producer_wait_seconds[5m]))"
    assert (prometheus.value(longest) or 0) > 1
    # The outage is in the latency of the sends that were due meanwhile.
    wait_until("slow sends are seen", lambda: (prometheus.value(SLOW) or 0) > 0)

    traffic = (*PRODUCER_METRICS, *CONSUMER_METRICS, *MEMBER_METRICS, *RECORDER_METRICS)
    assert samples(traffic) <= prometheus.names()
    for role, port in ports.items():
        check_by_promtool(role, text_of(port))

    api.set("StopProducing")
    # What was counted last is what the ledger has.
    assert wait(producer) == 0, pods.log("p1")
    counted = prometheus.value('max_over_time(krt_producer_sends_total{outcome="acked"}[5m])')
    assert 0 < (counted or 0) <= acked(pods)
    api.set("Drain", end_offsets(own_kafka, "scraped", 2))
    assert wait(consumer) == 0, pods.log("c1")
    api.set("Done")
    assert wait(recorder) == 0, pods.log("r1")


def check_by_promtool(role: str, text: str) -> None:
    done = subprocess.run(
        [programs() / "promtool", "check", "metrics"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    # Names of the process' own metrics are the client's.
    found = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("krt_")]
    assert found == [], role
    assert not re.search(r"error while", done.stderr), done.stderr


def test_queries_of_guide_and_controllers_dashboard_are_understood(
    scraped: tuple[Prometheus, dict[str, int]],
) -> None:
    prometheus, _ = scraped
    prometheus.until("count(up)", 3)
    guide = re.findall(r"\| `([^`]+)` \|$", GUIDE.read_text(), re.MULTILINE)
    assert len(guide) == 6
    for query in (*guide, *(query for _, query in panels("dashboard.json"))):
        assert prometheus.query(query) == []


def test_member_whose_port_is_taken_goes_on_without_metrics(
    kafka: LocalKafka, api: ControlApi, tmp_path: Path
) -> None:
    kafka.create_topic("shared", 1)
    pods = Pods(tmp_path, api, plan_document(kafka, "shared", 1))
    port = free_port()
    api.set("Produce")
    first = pods.start("producer", "main", "p1", metrics_port=port)
    wait_until("it has the port", lambda: "krt_producer" in read_or_empty(port))
    second = pods.start("producer", "main", "p2", 1, metrics_port=port)
    wait_until("both send", lambda: {row["producer"] for row in pods.rows("produce")} == BOTH)
    api.set("StopProducing")
    assert [wait(first), wait(second)] == [0, 0], pods.log("p2")
    assert f"no metrics: port {port} cannot be listened on" in pods.log("p2")
    assert "no metrics" not in pods.log("p1")


def read_or_empty(port: int) -> str:
    try:
        return text_of(port)
    except OSError:
        return ""
