"""The charts of the report, from a small series."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.unit.scoring.builders import SECOND, second_event

from krt_contract.timeline import EventName, Source
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.outputs import report
from krt_scoring.outputs.report.charts import drawing, library, lines
from krt_scoring.outputs.report.charts.axis import Axis, axis_of
from krt_scoring.outputs.report.charts.base import shades
from krt_scoring.outputs.report.charts.panels import panels
from krt_scoring.outputs.report.charts.tables import by_stretch

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NOTHING = Timeline(())
MARKUP = "</script><b>x</b>"
GAP = {
    "from": 4 * SECOND,
    "to": 9 * SECOND,
    "duration": 5 * SECOND,
    "fault": "f",
    "breakdown": {"detect": 3 * SECOND, "elect": SECOND, "client": SECOND // 2},
}


def card(**changes: Any) -> dict[str, Any]:
    row = {"topic": "foo", "partition": 0, "direction": "write", "measured": True}
    counted = {"scheduled": 9, "duringFaultOps": 3, "detectionLimit": 100_000, "count": 1}
    document: dict[str, Any] = {
        "schemaVersion": 2,
        "run": {"namespace": "ns", "name": "t", "uid": "u"},
        "verdict": "Passed",
        "summary": "",
        "inconclusiveReasons": [],
        "steadyFrom": 2 * SECOND,
        "faults": [
            {
                "name": "f",
                "action": "CrashPod",
                "injectedAt": 4 * SECOND,
                "revertedAt": 7 * SECOND,
                "recoveredAt": 9 * SECOND,
                "verified": True,
                "targets": [],
                "observations": [],
            }
        ],
        "recovery": {"faults": []},
        "availability": [row | counted | {"max": 5 * SECOND, "total": 5 * SECOND, "gaps": [GAP]}],
    }
    return document | changes


def series(**changes: Any) -> dict[str, Any]:
    latency = {
        "count": [5, 0, 5, 5],
        "p50": [900, None, 40_000, 900],
        "p99": [900, None, 4_000_000, 900],
        "max": [900, None, 5_000_000, 900],
    }
    document: dict[str, Any] = {
        "start": 0,
        "step": 3 * SECOND,
        "count": 4,
        "sends": [
            {
                "producer": "p",
                "topic": "foo",
                "acked": [30, 0, 0, 9],
                "failed": [0] * 4,
                "unknown": [0] * 4,
            }
        ],
        "latency": {"write": latency, "endToEnd": [{"group": "g", **latency}]},
        "lag": [{"group": "g", "records": [3, 9, 9, 0]}],
        "underReplicated": {"at": [0, 5 * SECOND], "partitions": [0, 2]},
        "partitions": [
            {
                "topic": "foo",
                "partition": 0,
                "replicas": [0, 1],
                "at": [0, 5 * SECOND, 6 * SECOND, 8 * SECOND],
                "leader": [0, -1, 1, 1],
                "isr": [[0, 1], [1], [1], [0, 1]],
                "withoutLiveLeader": [[4 * SECOND, 6 * SECOND]],
            }
        ],
        "rebalances": [
            {"group": "g", "from": SECOND, "to": 2 * SECOND, "partitions": 1, "members": 1}
        ],
        "events": {
            "at": [5 * SECOND, 5 * SECOND + 1, 8 * SECOND],
            "source": ["member", "broker", "controller"],
            "event": ["killed", "unregistered", "elected"],
            "subject": ["kafka-0", "0", "1"],
        },
    }
    return document | changes


def texts(spec: dict[str, Any]) -> str:
    return json.dumps(spec)


def by_name(
    document: dict[str, Any], of: dict[str, Any] | None, events: Timeline = NOTHING
) -> dict[str, Any]:
    _, found = panels(document, of, events)
    return {panel.name: panel for panel in found}


def test_panels_of_a_run_are_in_order_and_can_be_drawn() -> None:
    _, found = panels(card(), series(), NOTHING)
    names = [panel.name for panel in found]
    assert names == [
        "faults-over-time",
        "sends",
        "produce-latency",
        "end-to-end-0",
        "lag",
        "outages",
        "replication",
        "leaders",
        "rebalances",
        "events",
    ]
    for panel in found:
        assert panel.text
        assert panel.table is not None
        assert panel.table.rows
        drawn = drawing.svg(panel, 400)
        assert drawn.startswith('<svg aria-hidden="true"')
        assert set(re.findall(r'id="([^"]+)"', drawn)) == set(
            re.findall(rf'id="({panel.name}-400-[^"]+)"', drawn)
        )


def test_marks_of_a_time_stay_within_their_chart_when_zoomed() -> None:
    for panel in panels(card(), series(), NOTHING)[1]:
        for layer in panel.spec["layer"] if panel.spec else ():
            assert "field" not in layer["encoding"]["x"] or layer["mark"]["clip"]


def test_panels_without_a_series_are_those_that_the_scorecard_allows() -> None:
    assert list(by_name(card(), None)) == ["faults-over-time", "outages"]
    page = report.render(card(), NOTHING)
    assert "The run second by second is not recorded here" in page
    assert "vegaEmbed" not in page
    assert "<svg" in page


def test_panels_without_any_time_are_none_and_the_report_says_so() -> None:
    bare = card(faults=[], availability=[])
    del bare["steadyFrom"]
    assert panels(bare, None, NOTHING) == (None, [])
    assert "There are no charts" in report.render(bare, NOTHING)


def test_axis_covers_traffic_and_faults_but_not_the_creation_of_the_cluster() -> None:
    events = Timeline((second_event(-90, Source.PHASE, EventName.ENTERED, "Provisioning"),))
    axis = axis_of(card(), series(), events)
    assert axis is not None
    assert (axis.start, axis.end) == (0, 12 * SECOND + 12 * SECOND // 60)
    assert axis.seconds(1_234_567) == 1.235


def test_shades_are_start_up_active_and_recovering() -> None:
    rows = shades(Axis(0, 12 * SECOND), card()["faults"], steady=2 * SECOND)
    assert [(row["state"], row["t"], row["t2"]) for row in rows] == [
        ("start-up", 0.0, 2.0),
        ("active", 4.0, 7.0),
        ("recovering", 7.0, 9.0),
    ]


def test_sends_panel_says_when_nothing_was_acknowledged() -> None:
    panel = by_name(card(), series())["sends"]
    assert "39 acked, 0 failed, 0 unknown" in panel.text
    assert "At most 10 were acknowledged in a second; none at all from 3 s to 9 s." in panel.text
    assert [item.text for item in panel.legend] == ["acked"]


def test_latency_panel_names_the_longest_and_leaves_empty_seconds_out() -> None:
    panel = by_name(card(), series())["produce-latency"]
    assert "The longest, 5.00 s, was scheduled at 6 s." in panel.text
    (layer,) = [item for item in panel.spec["layer"] if "transform" in item]
    assert [row["v2"] for row in layer["data"]["values"]] == [0.9, None, 5000.0, 0.9]


def test_outage_panel_writes_the_parts_of_the_longest_gap() -> None:
    panel = by_name(card(), series())["outages"]
    words = "5.00 s = detect 3.00 s + elect 1.00 s + client 500.0 ms"
    assert words in texts(panel.spec)
    assert "foo-0 write: 1 gap, limit 100.0 ms" in texts(panel.spec)
    bars = next(
        layer["data"]["values"]
        for layer in panel.spec["layer"]
        if "fill" in layer["encoding"] and "style" in layer["data"]["values"][0]
    )
    assert [(bar["style"], bar["t"], bar["t2"]) for bar in bars] == [
        ("var(--phase)", 2.0, 2.1),
        ("var(--outage)", 4.0, 4.5),
        ("var(--part-detect)", 4.5, 7.5),
        ("var(--part-elect)", 7.5, 8.5),
        ("var(--part-client)", 8.5, 9.0),
    ]


def test_outage_panel_without_gaps_says_so_and_draws_nothing() -> None:
    row = card()["availability"][0] | {"count": 0, "gaps": []}
    panel = by_name(card(availability=[row]), None)["outages"]
    assert panel.spec is None
    assert "in 1 there was none above the detection limit" in panel.text


def test_leader_panel_names_brokers_and_the_time_without_a_live_leader() -> None:
    panel = by_name(card(), series())["leaders"]
    assert panel.text.startswith("1 change of leader.")
    for text in ("broker 0", "no leader", "broker 1", "none, 2.00 s"):
        assert f'"{text}"' in texts(panel.spec)
    assert panel.table.rows == (("foo-0", "broker 0, none from 5 s, broker 1 from 6 s", "2.00 s"),)


def test_event_panel_writes_events_together_that_are_close() -> None:
    panel = by_name(card(), series())["events"]
    assert "killed, session ended" in texts(panel.spec)
    assert panel.table.rows[-1] == ("8 s", "Kafka's controller", "broker 1 elected")


def test_thinned_joins_steps_of_a_long_run() -> None:
    assert lines.thinned([1, 2, 3], 1) == [1, 2, 3]
    assert lines.thinned([1, 3, None, None, 5], 2, add=True) == [2.0, None, 5.0]
    assert lines.thinned([1, 3, None, 9, 5], 2) == [3, 9, 5]
    assert lines.steps_in_one({"count": 3_601}) == 4


def test_sparse_keeps_the_peak_of_changes_that_cannot_be_told_apart() -> None:
    together = [(5.0 + number / 100_000, min(number, 53)) for number in range(60)]
    back = [(5.001, 2), (9.0, 0)]
    assert lines.sparse([(1.0, 1), *together, *back], 12) == [
        (1.0, 1),
        (5.0, 53),
        (5.001, 2),
        (9.0, 0),
    ]


def test_by_stretch_has_few_rows_for_a_long_run() -> None:
    table = by_stretch(0, 1, {"a": ([1] * 100, sum), "b": ([None] * 100, max)}, str)
    assert table.columns == ("part of the run", "a", "b")
    assert table.rows[0] == ("0 to 10 s", "10", "none")
    assert len(table.rows) == 10


def test_render_of_names_with_markup_shows_them_as_text() -> None:
    document = card()
    document["faults"][0]["name"] = MARKUP
    other = series()
    other["lag"][0]["group"] = other["partitions"][0]["topic"] = MARKUP
    other["latency"]["endToEnd"][0]["group"] = other["rebalances"][0]["group"] = MARKUP
    page = report.render(document, NOTHING, other)
    assert MARKUP not in page
    assert "<b>x" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page


def test_library_cannot_end_its_script_element() -> None:
    assert "</script" not in library.library().lower()
    assert drawing.as_script('{"a":"</script>"}') == '{"a":"\\u003c/script>"}'


def test_library_that_is_kept_is_the_one_that_would_be_bundled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "KEPT", tmp_path / library.KEPT.name)
    library.keep()
    assert library.KEPT.read_text(encoding="utf-8") == library.bundle()
    monkeypatch.setattr(library, "bundle", lambda: "bundled")
    library.library.cache_clear()
    try:
        assert library.library() == library.KEPT.read_text(encoding="utf-8")
        library.KEPT.unlink()
        library.library.cache_clear()
        assert library.library() == "bundled"
    finally:
        library.library.cache_clear()
