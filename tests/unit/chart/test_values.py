"""The chart's values: each documented, in README and schema; metrics that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from hack import chart_values
from prometheus_client import generate_latest

from krt_operator.app.metrics import Metrics

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


def served() -> set[str]:
    metrics = Metrics()
    names = {
        line.split()[2]
        for line in generate_latest(metrics.registry).decode().splitlines()
        if line.startswith("# TYPE ")
    }
    return names | {f"{name}_bucket" for name in names}


@pytest.mark.parametrize(
    "file", ["files/dashboard.json", "templates/metrics/prometheusrule.yaml", "README.md"]
)
def test_metrics_named_by_the_chart_are_served(file: str) -> None:
    named = set(re.findall(r"\bkrt_[a-z_]+", (CHART / file).read_text())) - {"krt_operator"}
    assert named
    assert named <= served()


def test_dashboard_shows_every_metric() -> None:
    dashboard = json.loads((CHART / "files/dashboard.json").read_text())
    shown = json.dumps(dashboard)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for name in ("tests_total", "phase_duration_seconds", "reconcile_errors", "expiry_errors"):
        assert f"krt_{name}" in shown


def test_annotations_of_the_chart_are_yaml_and_name_the_resource() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    (crd,) = yaml.safe_load(chart["annotations"]["artifacthub.io/crds"])
    assert crd["name"] == "kafkaresiliencetests.kafkaresilience.dev"
    (example,) = yaml.safe_load(chart["annotations"]["artifacthub.io/crdsExamples"])
    assert example["kind"] == crd["kind"]


def test_notes_end_with_the_next_command() -> None:
    notes = (CHART / "templates/NOTES.txt").read_text()
    assert notes.index("krt doctor") < notes.index("krt run")
