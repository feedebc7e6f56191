"""``krt diff``: settings, numbers and charts of several runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from krt_cli import main
from krt_cli.diff import numbers, overlay, settings
from krt_cli.diff.command import names
from krt_cli.diff.results import Result

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000
MARKUP = "<b>x</b>"


def card(**changes: Any) -> dict[str, Any]:
    objectives = [
        {"name": "lostRecords", "unit": "records", "value": 0, "limit": 0, "met": True},
        {
            "name": "maxWriteUnavailability",
            "unit": "us",
            "value": 7 * SECOND,
            "limit": 15 * SECOND,
            "met": True,
            "detectionLimit": 100_000,
        },
        {"name": "maxRecovery", "unit": "us", "limit": 9, "met": True, "affected": False},
    ]
    document: dict[str, Any] = {
        "schemaVersion": 2,
        "run": {"namespace": "ns", "name": "t", "uid": "u"},
        "verdict": "Passed",
        "score": 98.4,
        "objectives": objectives,
        "ledger": {"acked": 100, "failed": 2},
        "anomalies": {"unseen": {"count": 0}},
    }
    return document | changes


def series(injected: int | None = 3 * SECOND, group: str = "g") -> dict[str, Any]:
    latency = {"p99": [900, None, 4_000_000, 900]}
    return {
        "schemaVersion": 2,
        "start": 0,
        "step": SECOND,
        "count": 4,
        "faults": [] if injected is None else [{"name": "f", "injectedAt": injected}],
        "sends": [{"acked": [1, 2, 3, 4]}, {"acked": [1, 1, 1, 1]}],
        "latency": {"write": latency, "endToEnd": [{"group": group, **latency}]},
        "lag": [{"group": group, "records": [3, 9, 9, 0]}],
    }


def plan(acks: str = "all") -> dict[str, Any]:
    producer = {"name": "p", "acks": acks, "config": {}}
    spec = {"traffic": {"producers": [producer]}, "faults": [], "seed": 42}
    return {"schemaVersion": 2, "run": {"uid": acks}, "spec": spec, "versions": {"kafka": "3.9"}}


def write(folder: Path, **files: Any) -> Path:
    folder.mkdir()
    for name, document in files.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(document))
    return folder


def test_settings_that_differ_are_named_by_entry_and_others_left_out() -> None:
    one, other = plan(), plan("1")
    other["spec"]["kafka"] = {"replicas": 5, "racks": ["a", "b"], "rack": True}
    assert settings.differing([one, other]) == [
        ("spec.kafka.rack", ["not set", "true"]),
        ("spec.kafka.racks", ["not set", "a, b"]),
        ("spec.kafka.replicas", ["not set", "5"]),
        ("spec.traffic.producers[p].acks", ["all", "1"]),
    ]
    assert settings.differing([one, plan()]) == []


def test_settings_name_features_that_differ_and_not_which_cluster_it_was() -> None:
    levels = {"metadata.version": 29}
    one = plan() | {"metadata": {"mode": "KRaft", "clusterId": "a", "features": levels}}
    other = plan() | {"metadata": {"mode": "KRaft", "clusterId": "b"}}
    assert settings.differing([one, other]) == [("features.metadata.version", ["29", "not set"])]
    assert settings.differing([plan(), plan() | {"metadata": None}]) == []


def test_rows_show_differences_to_the_first_run() -> None:
    slower = card(verdict="Degraded", score=91.2, ledger={"acked": 90})
    slower["objectives"][1]["value"] = 16 * SECOND
    rows = {row.name: row.values for row in numbers.rows([card(), slower])}
    assert rows["verdict"] == ("Passed", "Degraded")
    assert rows["score"] == ("98.4", "91.2 (-7.2)")
    assert rows["longest write outage"] == ("7.00 s", "16.00 s (+9.00 s)")
    assert rows["lost acknowledged records"] == ("0", "0")
    assert rows["recovery"] == ("no effect seen", "no effect seen")
    assert rows["records acked"] == ("100", "90 (-10)")
    assert rows["records failed"] == ("2", "not recorded")
    assert "anomaly unseen" not in rows


def test_rows_of_an_unseen_outage_show_the_detection_limit_and_no_difference() -> None:
    unseen = card()
    del unseen["objectives"][1]["value"]
    rows = {row.name: row.values for row in numbers.rows([card(), unseen])}
    assert rows["longest write outage"] == ("7.00 s", "none longer than 100.0 ms")


def test_rows_of_a_recovery_that_did_not_end_show_the_least_and_no_difference() -> None:
    open_end = card()
    recovery = next(item for item in open_end["objectives"] if item["name"] == "maxRecovery")
    recovery |= {"value": 40 * SECOND, "atLeast": True, "met": False}
    rows = {row.name: row.values for row in numbers.rows([card(), open_end])}
    assert rows["recovery"] == ("no effect seen", "at least 40.00 s")


def test_charts_lie_on_each_other_from_the_first_fault_on() -> None:
    one = Result("a", card(), series(), {})
    other = Result("b", card(), series(injected=None), {})
    found = {chart.title: chart for chart in overlay.charts([one, other, one])}
    acked = found["Acknowledged sends"].lines
    assert acked["a"] == [(-2.5, 2), (-1.5, 3), (-0.5, 4), (0.5, 5)]
    assert [at for at, _ in acked["b"]] == [0.5, 1.5, 2.5, 3.5]
    assert found["Produce latency, p99"].lines["a"][1:3] == [(-1.5, None), (-0.5, 4000.0)]
    assert list(overlay.charts([Result("a", card(), None, {})])) == []


def test_names_of_runs_that_are_called_the_same_are_numbered(tmp_path: Path) -> None:
    found = names([tmp_path / "x/run", tmp_path / "y/run", tmp_path / "other"])
    assert found == ["1 run", "2 run", "other"]


def test_diff_prints_settings_then_numbers_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write(tmp_path / "a", scorecard=card(), series=series(), run=plan())
    changed = plan("1") | {"versions": {"kafka": MARKUP}}
    other = write(tmp_path / "b", scorecard=card(score=90.0), series=series(), run=changed)
    page = tmp_path / "diff.html"
    assert main.run(["diff", str(one), str(other), "--html", str(page)]) == 0
    text = capsys.readouterr().out
    assert text.index("spec.traffic.producers[p].acks") < text.index("90.0 (-8.4)")
    html = page.read_text()
    assert html.count("<svg") == 4
    assert MARKUP not in html
    assert "&lt;b&gt;x&lt;/b&gt;" in html


def test_diff_of_scorecards_alone_has_no_charts(tmp_path: Path) -> None:
    one, other = (tmp_path / name for name in ("a.json", "b.json"))
    for path in (one, other):
        path.write_text(json.dumps(card()))
    page = tmp_path / "diff.html"
    assert main.run(["diff", str(one), str(other), "--html", str(page)]) == 0
    assert "None of the runs was kept second by second" in page.read_text()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "holds no scorecard.json"),
        ({"schemaVersion": 1}, "has schemaVersion 1, and this release reads 2"),
        ([], "has schemaVersion None"),
    ],
)
def test_diff_of_what_is_no_result_says_so_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: Any, message: str
) -> None:
    files = {} if document is None else {"scorecard": document}
    bad = write(tmp_path / "bad", **files)
    good = write(tmp_path / "good", scorecard=card())
    assert main.run(["diff", str(good), str(bad)]) == 4
    assert message in capsys.readouterr().err


def test_diff_of_one_run_asks_for_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["diff", str(tmp_path)]) == 4
    assert "two runs or more" in capsys.readouterr().err
