"""The report as a browser shows it: drawn, readable at any width, with the scorecard's figures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.contract.report.conftest import PHONE, WIDE

from krt_scoring import durations
from krt_scoring.inputs.timeline import Timeline
from krt_scoring.outputs import report, scorecard

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.report.conftest import Opened, Sample

MAX_BYTES = 2_500_000
"""Of the report of a run of ten minutes."""

CONTRAST = Path(__file__).with_name("contrast.js").read_text()
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
MARKUP = "<img src=x onerror=alert(1)></script>"


def longer(series: dict[str, Any], times: int) -> dict[str, Any]:
    """Return a series of so many times the length."""

    def repeated(value: Any) -> Any:
        if isinstance(value, list) and len(value) == series["count"]:
            return value * times
        if isinstance(value, list):
            return [repeated(item) for item in value]
        if isinstance(value, dict):
            return {key: repeated(item) for key, item in value.items()}
        return value

    return {**repeated(series), "count": series["count"] * times}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_report_is_drawn_without_errors_and_fits_the_page(
    visit: Callable[..., Opened], sample: Sample, width: int, scheme: str
) -> None:
    opened = visit(sample.render(), width=width, scheme=scheme)
    page = opened.page
    assert opened.problems == []
    charts = page.locator("figure[data-chart]")
    assert charts.count() == 10
    assert page.locator("figure.live .drawn svg").count() == charts.count()
    assert page.locator(".still svg:visible").count() == 0
    assert page.evaluate(OVERFLOW) == 0
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_report_without_scripts_has_still_charts_that_fit(
    visit: Callable[..., Opened], sample: Sample, width: int
) -> None:
    page = visit(sample.render(), width=width, scripts=False).page
    seen = page.locator(".still svg:visible")
    assert seen.count() == 10
    box = seen.first.bounding_box()
    assert box is not None
    assert width * 0.75 < box["width"] <= width
    assert page.locator(".zoom:visible").count() == 0
    assert page.evaluate(OVERFLOW) == 0


def test_report_shows_the_figures_of_the_scorecard(
    visit: Callable[..., Opened], sample: Sample
) -> None:
    page = visit(sample.render()).page
    values = {item["name"]: item for item in sample.card["objectives"]}
    for name in ("maxWriteUnavailability", "maxReadUnavailability", "maxRecovery"):
        tile = page.locator(f"#tile-{name}")
        assert tile.locator(".value").inner_text() == durations.show(values[name]["value"])
        assert durations.show(values[name]["limit"]) in tile.inner_text()
    assert page.locator("#tile-lostRecords .value").inner_text() == "0"
    acked = f"{sample.card['ledger']['acked']:,}".replace(",", "\u202f")
    assert f"{acked} acked" in page.locator("#sends figcaption").inner_text()
    ledger = page.locator(".flow > li").first.inner_text()
    assert ledger.startswith(f"{acked} acknowledged")
    worst = max(part["max"] for part in sample.card["latency"]["write"].values())
    assert durations.show(worst) in page.locator("#produce-latency figcaption").inner_text()
    drawn = page.locator("#outages .drawn").evaluate("node => node.textContent")
    assert f"{durations.show(values['maxWriteUnavailability']['value'])} = detect" in drawn


def test_zoom_moves_all_charts_by_buttons_and_by_the_mouse(
    visit: Callable[..., Opened], sample: Sample
) -> None:
    page = visit(sample.render()).page
    shown = page.locator(".zoom output")
    assert shown.inner_text() == "0.0 s to 61.0 s"
    button = page.get_by_role("button", name="Fault leader-down")
    button.focus()
    page.keyboard.press("Enter")
    assert shown.inner_text() == "23.9 s to 58.5 s"
    for name in ("sends", "outages"):
        labels = page.locator(f"#{name} .drawn .role-axis-label").first
        text = labels.evaluate("node => node.textContent")
        assert "25 s" in text
        assert "10 s" not in text
    page.get_by_role("button", name="Whole run").click()
    chart = page.locator("#lag .drawn")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 60)
    page.mouse.up()
    start, end = map(float, re.findall(r"[\d.]+", shown.inner_text()))
    assert 10 < end - start < 13


def test_report_can_be_used_by_keyboard_and_screen_reader(
    visit: Callable[..., Opened], sample: Sample
) -> None:
    page = visit(sample.render(), width=PHONE).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for figure in page.locator("figure").all():
        assert figure.get_attribute("aria-labelledby")
        assert figure.locator("figcaption").inner_text()
        assert figure.locator("table").count() == 1
    assert page.locator("svg:not([aria-hidden])").locator("visible=true").count() in {0, 10}
    unnamed = "nodes => nodes.filter(n => !n.textContent.trim() && !n.ariaLabel).length"
    assert page.locator("a, button, summary").evaluate_all(unnamed) == 0
    for link in page.locator("nav a").all():
        target = str(link.get_attribute("href"))
        assert page.locator(target).count() == 1
    ids = page.locator("[id]").evaluate_all("nodes => nodes.map(node => node.id)")
    assert len(ids) == len(set(ids))
    headless = "tables => tables.filter(t => !t.querySelector('th[scope]')).length"
    assert page.locator("table").evaluate_all(headless) == 0


def test_report_of_ten_minutes_is_small_and_opens_soon(
    visit: Callable[..., Opened], sample: Sample
) -> None:
    html = report.render(sample.card, sample.events, longer(sample.series, 10), sample.run)
    assert len(html.encode()) < MAX_BYTES
    opened = visit(html)
    assert opened.problems == []
    assert opened.page.locator("figure.live").count() == 10


def test_report_in_print_has_everything_and_nothing_to_click(
    visit: Callable[..., Opened], sample: Sample
) -> None:
    page = visit(sample.render(), scheme="dark").page
    page.emulate_media(media="print")
    assert page.locator(".zoom:visible, nav:visible").count() == 0
    assert page.locator("figure svg:visible").count() > 0
    assert page.evaluate(CONTRAST) == []


def test_report_of_names_with_markup_shows_them_as_text(
    visit: Callable[..., Opened], sample: Sample
) -> None:
    faults = [sample.card["faults"][0] | {"name": MARKUP}]
    renamed = {**sample.series, "lag": [{**sample.series["lag"][0], "group": MARKUP}]}
    html = report.render(
        sample.card | {"faults": faults, "summary": MARKUP}, sample.events, renamed, sample.run
    )
    opened = visit(html)
    assert opened.problems == []
    assert opened.page.locator("img").count() == 0
    assert MARKUP in opened.page.locator("#faults-over-time .drawn").evaluate(
        "node => node.textContent"
    )


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_report_of_a_plan_that_cannot_be_used_says_why_there_is_no_more(
    visit: Callable[..., Opened], width: int
) -> None:
    reason = {
        "kind": "evidence",
        "code": "PlanUnusable",
        "subject": "run.json",
        "message": f"not JSON {'x' * 300}",
        "invalidates": [],
    }
    card = scorecard.header("ns", "t", "uid", None) | {
        "verdict": "Inconclusive",
        "summary": f"PlanUnusable run.json: {'x' * 300}",
        "inconclusiveReasons": [reason],
    }
    opened = visit(report.render(card, Timeline(())), width=width)
    assert opened.problems == []
    text = opened.page.locator("body").inner_text()
    assert "Nothing was judged" in text
    assert "PlanUnusable" in text
    assert "There are no charts" in text
    assert opened.page.evaluate(OVERFLOW) == 0
    assert opened.page.evaluate(CONTRAST) == []


def test_report_of_a_run_that_ended_before_traffic_shows_its_phases(
    visit: Callable[..., Opened], sample: Sample
) -> None:
    empty = {
        **sample.series,
        "count": 0,
        "sends": [],
        "latency": {"endToEnd": []},
        "lag": [],
        "partitions": [],
        "rebalances": [],
    }
    reason = {
        "kind": "coverage",
        "code": "Aborted",
        "subject": "t",
        "message": "the test was aborted during Provisioning",
        "invalidates": [],
    }
    card = {
        **scorecard.header("ns", "t", "uid", 42),
        "verdict": "Inconclusive",
        "summary": "aborted",
        "inconclusiveReasons": [reason],
        "ledger": {"attempted": 0, "balanced": 1},
        "faults": [],
        "recovery": {"faults": []},
    }
    opened = visit(report.render(card, sample.events, empty, sample.run), width=PHONE)
    assert opened.problems == []
    text = opened.page.locator("body").inner_text()
    assert "the test was aborted during Provisioning" in text
    assert opened.page.locator("#faults-over-time svg:visible").count() == 1
    assert opened.page.evaluate(OVERFLOW) == 0
