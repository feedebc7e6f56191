"""The reference of metrics is what hack/render makes of the table that the code exports."""

from __future__ import annotations

from pathlib import Path

import pytest
from hack import metrics_page

from krt_contract import metrics
from krt_contract.metrics import Metric, MetricKind

ROOT = Path(__file__).resolve().parents[3]
LISTED = [metric for _, found, _ in metrics_page.SECTIONS for metric in found]


def test_page_of_metrics_is_current() -> None:
    page = ROOT / "docs/reference/metrics.md"
    assert page.read_text() == metrics_page.page(), "run make manifests"


def test_readme_of_the_chart_has_the_metrics_of_the_controller() -> None:
    text = (ROOT / "helm/kafka-resilience/README.md").read_text()
    assert metrics_page.readme(text) == text, "run make manifests"


def test_every_metric_is_listed_once() -> None:
    defined = [value for value in vars(metrics).values() if isinstance(value, Metric)]
    assert sorted(LISTED) == sorted(defined)
    assert len({metric.name for metric in LISTED}) == len(LISTED)


@pytest.mark.parametrize("metric", LISTED, ids=lambda metric: metric.name)
def test_metric_is_named_by_the_conventions_of_prometheus(metric: Metric) -> None:
    assert metric.name.startswith("krt_")
    assert metric.name.endswith("_total") is (metric.kind is MetricKind.COUNTER)
    assert metric.meaning.endswith(".")
    # Prometheus adds them, and would rename ours.
    assert not {"namespace", "pod", "instance", "job", "le"} & set(metric.labels)
