"""The result as Markdown, for the page of a CI job: verdict, four numbers, what went wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from krt_scoring.outputs.report.head import sentence, tiles
from krt_scoring.outputs.report.words import number
from krt_scoring.outputs.severity import by_severity, standing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_REASONS = 10
"""Reasons, expectations and warnings that are listed; more are counted."""

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$]|^[-+#])")
"""Characters that mean something to Markdown anywhere, and those that do at the begin of a text."""


def render(card: Mapping[str, Any]) -> str:
    """Return the summary of a scorecard."""
    run = card["run"]
    name = _text(f"{run['namespace']}/{run['name']}")
    points = f", score {card['score']} of 100" if "score" in card else ""
    parts = [
        f"## {card['verdict']}: {name}{points}",
        _text(sentence(card)),
        "\n".join(_numbers(card)),
        *_lists(card),
        "All of it is in `report.html`, `scorecard.json` and `junit.xml` of the run's evidence.",
    ]
    return "\n\n".join(parts) + "\n"


def _numbers(card: Mapping[str, Any]) -> Iterator[str]:
    yield "| | measured | objective |"
    yield "| --- | --- | --- |"
    for tile in tiles(card):
        name = {True: "met", False: "**missed**", None: ""}[tile.met]
        objective = tile.objective.removeprefix("objective: ").rsplit(", ", 1)[0]
        result = f", {name}" if name else ""
        yield f"| {tile.title} | {_text(tile.value)} | {_text(objective)}{result} |"


def _lists(card: Mapping[str, Any]) -> Iterator[str]:
    reasons = [
        f"{item['code']} {item['subject']}: {item['message']}"
        for item in card.get("inconclusiveReasons", [])
    ]
    yield from _list("Why the run, or a part of it, proves nothing", reasons)
    yield from _list("Anomalies", list(_anomalies(card)))
    unmet = [
        f"{item['expectation']}: expected {item['expected']}; observed {item['observed']}"
        for item in card.get("expectationResults", [])
        if item["result"] == "NotMet"
    ]
    yield from _list("Expectations that were not met", unmet)
    warnings = [
        f"{item['code']} {item['subject']}: {item['message']}" for item in card.get("warnings", [])
    ]
    yield from _list("Warnings", warnings)


def _anomalies(card: Mapping[str, Any]) -> Iterator[str]:
    anomalies = card.get("anomalies", {})
    for name in by_severity(anomalies):
        item = anomalies[name]
        counts = []
        if standing(item):
            counts.append(f"{number(standing(item))} not permitted")
        if item.get("void"):
            counts.append(f"{number(item['void'])} not judged, since evidence is missing")
        if item["permitted"]:
            rules = ", ".join(sorted(item["rules"]))
            counts.append(f"{number(item['permitted'])} permitted by {rules}")
        yield f"{name} ({item.get('unit', 'findings')}): {', '.join(counts)}"


def _list(title: str, items: Sequence[str]) -> Iterator[str]:
    if not items:
        return
    shown = [f"- {_text(item)}" for item in items[:MAX_REASONS]]
    if len(items) > MAX_REASONS:
        shown.append(f"- and {len(items) - MAX_REASONS} more")
    yield f"### {title}\n\n" + "\n".join(shown)


def _text(value: str) -> str:
    """Return a text as Markdown shows it: nothing in it is markup, and it stays on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(value.split()))
