"""The chart's values: each documented, in README and schema; metrics that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from hack import chart_values

from krt_contract.metrics import (
    CONSUMER_METRICS,
    CONTROLLER_METRICS,
    FAULT_ACTIVE,
    MEMBER_METRICS,
    PRODUCER_METRICS,
    RECORDER_METRICS,
    Metric,
    MetricKind,
)

ROOT = Path(__file__).parents[3]
CHART = ROOT / "helm/kafka-resilience"
VALUES = (CHART / "values.yaml").read_text()

TEXT = """\
# A file.

# What a is.
a: 1
b:
  # What c is,
  # and more.
  c: [x]
  d: 2
# An image.
e: {registry: "", repository: some/where, tag: "1", digest: ""}
"""


def test_documented_reads_the_comments_directly_above() -> None:
    assert chart_values.documented(TEXT) == [
        (("a",), "What a is."),
        (("b", "c"), "What c is, and more."),
        (("e",), "An image."),
    ]
    assert list(chart_values.undocumented(TEXT)) == ["b.d"]


def test_table_shows_defaults() -> None:
    assert chart_values.table(TEXT).splitlines()[2:] == [
        "| `a` | `1` | What a is. |",
        '| `b.c` | `["x"]` | What c is, and more. |',
        "| `e` | `some/where:1` | An image. |",
    ]


def test_every_value_has_a_description() -> None:
    assert list(chart_values.undocumented(VALUES)) == []


def test_readme_and_schema_are_current() -> None:
    page = (CHART / "README.md").read_text()
    schema = (CHART / "values.schema.json").read_text()
    assert chart_values.readme(page, VALUES) == page, "run make manifests"
    assert chart_values.schema(json.loads(schema), VALUES) == schema, "run make manifests"


def test_schema_refuses_unknown_values_at_every_level() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert schema["additionalProperties"] is False
    for name in ("crds", "evidence", "metrics", "networkPolicy", "rbac", "serviceAccount"):
        assert schema["properties"][name]["additionalProperties"] is False
    assert set(yaml.safe_load(VALUES)) <= set(schema["properties"])


METRICS = (
    *(*CONTROLLER_METRICS, *PRODUCER_METRICS, *CONSUMER_METRICS),
    *(*MEMBER_METRICS, *RECORDER_METRICS),
)
SAMPLES = {metric.name for metric in METRICS} | {
    f"{metric.name}_bucket" for metric in METRICS if metric.kind is MetricKind.HISTOGRAM
}
"""Names that a query may have."""

DASHBOARDS = ("files/dashboard.json", "files/dashboard-test.json")


@pytest.mark.parametrize("file", [*DASHBOARDS, "templates/metrics/prometheusrule.yaml"])
def test_metrics_named_by_the_chart_are_exported(file: str) -> None:
    named = set(re.findall(r"\bkrt_[a-z_]+", (CHART / file).read_text()))
    assert named
    assert named <= SAMPLES


@pytest.mark.parametrize("file", DASHBOARDS)
def test_dashboard_has_its_own_uid_and_panels_that_do_not_overlap(file: str) -> None:
    dashboard = json.loads((CHART / file).read_text())
    assert dashboard["uid"] == Path(file).stem.replace("dashboard", "kafka-resilience")
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_dashboards_show_every_metric(metric: Metric) -> None:
    shown = " ".join((CHART / file).read_text() for file in DASHBOARDS)
    assert metric.name in shown


def test_dashboard_of_a_test_has_its_faults_as_annotations() -> None:
    dashboard = json.loads((CHART / DASHBOARDS[1]).read_text())
    faults = dashboard["annotations"]["list"][0]
    assert faults["expr"].startswith(FAULT_ACTIVE.name)
    assert faults["enable"]


def test_annotations_of_the_chart_are_yaml_and_name_the_resource() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    (crd,) = yaml.safe_load(chart["annotations"]["artifacthub.io/crds"])
    assert crd["name"] == "kafkaresiliencetests.kafkaresilience.dev"
    (example,) = yaml.safe_load(chart["annotations"]["artifacthub.io/crdsExamples"])
    assert example["kind"] == crd["kind"]


def test_notes_end_with_the_next_command() -> None:
    notes = (CHART / "templates/NOTES.txt").read_text()
    assert notes.index("krt doctor") < notes.index("krt run")
