"""Panels of what was injected and what it interrupted: faults, phases, outages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_scoring import durations
from krt_scoring.outputs.report.charts.base import Key, Panel, Table, spells
from krt_scoring.outputs.report.charts.lanes import Bar, Lane, Mark, of_lanes
from krt_scoring.outputs.report.words import longest, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_scoring.inputs.timeline import Timeline
    from krt_scoring.outputs.report.charts.axis import Axis
    from krt_scoring.outputs.report.charts.base import Row

PARTS = ("detect", "elect", "rebalance", "client")
"""Parts of a gap in the order in which they pass."""

STYLES = {"active": "fault", "recovering": "recovering"}
"""State of a fault → the style of its bar."""

MAX_LANES = 12
"""Partitions whose outages are drawn, those with the longest; the table has the others too."""


def fault_panel(
    axis: Axis, card: Mapping[str, Any], events: Timeline, faults: Sequence[Row]
) -> Panel:
    """Return the panel of faults and phases."""
    lanes = [_phases(axis, events)] if any(events.of(Source.PHASE)) else []
    rows = []
    for fault in card.get("faults", []):
        if "injectedAt" not in fault:
            continue
        lanes.append(_fault(axis, fault))
        rows.append(
            (
                fault["name"],
                str(fault.get("action", "")),
                *(
                    f"{axis.seconds(fault[key]):g} s" if key in fault else "not recorded"
                    for key in ("injectedAt", "revertedAt", "recoveredAt")
                ),
            )
        )
    table = Table(("fault", "action", "injected", "reverted", "recovered"), tuple(rows))
    title = "Faults and phases"
    if not lanes:
        return Panel("faults-over-time", title, "No fault was injected.")
    text = f"{plural(len(rows), 'fault')} injected." if rows else "No fault was injected."
    return Panel("faults-over-time", title, text, of_lanes(axis, lanes, faults), table)


def _phases(axis: Axis, events: Timeline) -> Lane:
    entered = sorted(
        (event.at, event.subject) for event in events.of(Source.PHASE, EventName.ENTERED)
    )
    ends = [*(at for at, _ in entered[1:]), axis.end]
    return Lane(
        "phases",
        [
            Bar(
                axis.seconds(max(at, axis.start)),
                axis.seconds(min(end, axis.end)),
                "phase",
                name,
                f"{name}, {durations.show(end - at)}",
            )
            for (at, name), end in zip(entered, ends, strict=False)
            if end > axis.start and at < axis.end
        ],
    )


def _fault(axis: Axis, fault: Mapping[str, Any]) -> Lane:
    bars = [
        Bar(since, until, STYLES[state], state, f"{state} {fault['name']}")
        for state, since, until in spells(axis, fault)
    ]
    text = "" if bars else "injected"
    return Lane(
        f"{fault['name']} ({fault.get('action', '')})",
        bars,
        [Mark(axis.seconds(fault["injectedAt"]), text)],
    )


def outage_panel(axis: Axis, card: Mapping[str, Any], faults: Sequence[Row]) -> Panel | None:
    """Return the panel of the outages; None where the scorecard has none of their figures."""
    measured = [row for row in card.get("availability", []) if row["measured"]]
    title = "Outages"
    if not measured:
        return None
    with_gaps = [row for row in measured if row.get("gaps")]
    table = Table(
        ("partition", "longest", "its parts", "gaps"),
        tuple(
            (_name(row), longest(row), parts_of_longest(row), str(row["count"])) for row in measured
        ),
    )
    quiet = len(measured) - len(with_gaps)
    text = (
        "A gap is the time in which operations were due on a partition and none succeeded. "
        f"{len(with_gaps)} of {len(measured)} partitions and directions have one"
    )
    text += f"; in {quiet} there was none above the detection limit." if quiet else "."
    if not with_gaps:
        return Panel("outages", title, text, None, table)
    shown = sorted(with_gaps, key=lambda row: (-row["max"], _name(row)))[:MAX_LANES]
    if len(shown) < len(with_gaps):
        text += f" The {len(shown)} with the longest are drawn."
    text += " Above each bar: the longest one and its parts."
    steady = max(axis.start, card.get("steadyFrom", axis.start))
    lanes = [_lane(axis, row, steady) for row in shown]
    legend = tuple(Key(part, f"part-{part}") for part in PARTS)
    legend += (
        Key("not broken down", "outage"),
        Key("detection limit, to scale, where measuring begins", "phase"),
    )
    return Panel("outages", title, text, of_lanes(axis, lanes, faults), table, legend)


def _name(row: Mapping[str, Any]) -> str:
    group = f" by {row['group']}" if row.get("group") else ""
    return f"{row['topic']}-{row['partition']} {row['direction']}{group}"


def parts_of_longest(row: Mapping[str, Any]) -> str:
    """Return the parts of the longest gap of a row of ``availability``, in words."""
    for gap in row.get("gaps", []):
        if gap["duration"] == row.get("max"):
            return _in_words(gap)
    return ""


def _in_words(gap: Mapping[str, Any]) -> str:
    parts = gap.get("breakdown") or {}
    return ", ".join(f"{part} {durations.show(parts[part])}" for part in PARTS if part in parts)


def _lane(axis: Axis, row: Mapping[str, Any], steady: int) -> Lane:
    bars = [bar for gap in row["gaps"] for bar in _segments(axis, gap)]
    parts = parts_of_longest(row).replace(", ", " + ")
    known = ""
    limit = row.get("detectionLimit")
    if limit is not None:
        known = f", limit {durations.show(limit)}"
        to_scale = axis.seconds(steady), axis.seconds(min(steady + limit, axis.end))
        bars.insert(0, Bar(*to_scale, "phase", note=f"detection limit {durations.show(limit)}"))
    note = f"{durations.show(row['max'])}{f' = {parts}' if parts else ''}"
    return Lane(f"{_name(row)}: {plural(row['count'], 'gap')}{known}", bars, note=note)


def _segments(axis: Axis, gap: Mapping[str, Any]) -> list[Bar]:
    """Return a gap as its parts, from its end backwards; what is not broken down comes first."""
    parts, words = gap.get("breakdown") or {}, _in_words(gap)
    note = durations.show(gap["duration"]) + (f": {words}" if words else "")
    end = gap["to"]
    found: list[Bar] = []
    for part in reversed(PARTS):
        begin = max(end - parts.get(part, 0), gap["from"])
        if begin < end:
            text = f"{part} {durations.show(end - begin)}"
            found.append(Bar(axis.seconds(begin), axis.seconds(end), f"part-{part}", text, note))
        end = min(end, begin)
    if end > gap["from"]:
        found.append(Bar(axis.seconds(gap["from"]), axis.seconds(end), "outage", "", note))
    return found[::-1]
