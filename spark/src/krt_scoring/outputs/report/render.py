"""Fills the report's template from a scorecard and the timeline."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import jinja2

from krt_scoring import durations
from krt_scoring.outputs import objective_values
from krt_scoring.outputs.report import chart
from krt_scoring.outputs.severity import by_severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_scoring.inputs.timeline import Timeline

OUTCOMES = {
    "delivered": "delivered to every group that had to get them",
    "deliveredLate": "delivered to the last group only after the fault had reverted",
    "undelivered": "in the log, but never delivered to a group",
    "expired": "deleted by retention, below the start of the log",
    "lost": "missing from the log",
    "unknownInLog": "in the log",
    "unknownNotInLog": "not in the log",
    "failedNotInLog": "not in the log, as it should be",
    "failedInLog": "in the log although the send failed",
}
"""Outcome of the ledger identity → what it means for the records."""

EPOCH_MICROS = 1_000_000_000_000_000
"""Times are µs since 1970; no count or offset of a run comes near this."""

IDENTITY = {
    "acked": ("delivered", "deliveredLate", "undelivered", "expired", "lost"),
    "unknown": ("unknownInLog", "unknownNotInLog"),
    "failed": ("failedNotInLog", "failedInLog"),
}
"""Outcome of a send → the outcomes that its records are divided into."""


INLINE = ("presentOnBrokers", "dumped", "lacking")
"""Lists of brokers in an example, shown in its row."""


def render(card: Mapping[str, Any], events: Timeline) -> str:
    """Return the report as one HTML document."""
    loader = jinja2.PackageLoader("krt_scoring.outputs.report", "templates")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        {
            "duration": durations.show,
            "longest": longest,
            "recovery": recovery,
            "clock": clock,
            "number": number,
            "value": partial(objective_values.show, number=number),
            "cell": cell,
            "lines": lines,
        }
    )
    unchecked = card.get("uncheckedAnomalies", [])
    return environment.get_template("report.html.j2").render(
        card=card,
        identity=_identity(card.get("ledger", {})),
        found=_found(card),
        quiet=[
            name
            for name, item in card.get("anomalies", {}).items()
            if not item["count"] and name not in unchecked
        ],
        unchecked=unchecked,
        chart=_chart(card, events),
        gap_parts=chart.PARTS,
    )


def clock(at: int) -> str:
    """Return a time of day in UTC to the millisecond."""
    moment = datetime.fromtimestamp(at // 1_000_000, UTC)
    return f"{moment:%H:%M:%S}.{at % 1_000_000 // 1000:03d}"


def number(count: int) -> str:
    """Return an integer with thin spaces between thousands."""
    return f"{count:,}".replace(",", "\u2009")


def cell(value: Any, column: str) -> str:
    """Return an example's value; a time as a time of day, a list in one line."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, int) and value >= EPOCH_MICROS and column.lower().endswith("at"):
        return clock(value)
    return str(value)


def lines(value: list[Any] | dict[str, Any]) -> list[str]:
    """Return a mini-history as one line an entry."""
    entries = value if isinstance(value, list) else [value]
    return [
        ", ".join(f"{key} {cell(item, key)}" for key, item in entry.items())
        if isinstance(entry, dict)
        else str(entry)
        for entry in entries
    ]


def longest(row: Mapping[str, Any]) -> str:
    """Return the longest gap of a row of ``availability``, or how long one could be unseen."""
    seen = row["max"] if row["count"] else None
    if seen is None and "detectionLimit" not in row:
        return "none seen"
    return durations.show_longest(seen, row.get("detectionLimit"))


def recovery(item: Mapping[str, Any]) -> str:
    """Return the recovery from a fault in a sentence."""
    if not item.get("affected", True):
        return "No effect seen: no ISR was incomplete, and no gap reached the detection limit."
    if not item["complete"]:
        return f"Not recovered {durations.show(item['duration'])} after the revert."
    if item["duration"]:
        return f"Recovered {durations.show(item['duration'])} after the revert."
    return "Recovered before the revert."


def _identity(ledger: Mapping[str, int]) -> list[dict[str, Any]]:
    rows = []
    for send_outcome, outcomes in IDENTITY.items():
        parts = [
            {"name": name, "count": ledger.get(name, 0), "text": OUTCOMES[name]}
            for name in outcomes
        ]
        rows.append({"name": send_outcome, "count": ledger.get(send_outcome, 0), "outcomes": parts})
    return rows


def _found(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The anomalies that were observed, the most severe first."""
    anomalies = card.get("anomalies", {})
    return [
        {"name": name, **anomalies[name], "columns": _columns(anomalies[name]["examples"])}
        for name in by_severity(anomalies)
    ]


def _columns(examples: list[dict[str, Any]]) -> list[str]:
    """Columns any example has; nested histories are shown apart, all but short lists."""
    first = ["topic", "partition", "offset", "producer", "producer_incarnation", "seq", "grp"]
    names = {
        key
        for row in examples
        for key, value in row.items()
        if key in INLINE or not isinstance(value, (list, dict))
    }
    return [name for name in first if name in names] + sorted(names - set(first))


def _chart(card: Mapping[str, Any], events: Timeline) -> dict[str, Any] | None:
    axis = chart.scale(card, events)
    if axis is None:
        return None
    return {
        "width": chart.WIDTH,
        "start": axis.start,
        "ticks": axis.ticks(),
        "phases": chart.phases(axis, events),
        "faults": chart.faults(axis, card.get("faults", [])),
        "traffic": chart.traffic(axis, events, card.get("steadyFrom")),
        "lanes": chart.lanes(axis, card.get("availability", [])),
    }
