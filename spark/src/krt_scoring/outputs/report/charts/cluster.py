"""Panels of the cluster: replication, leaders, rebalances, controller and sessions."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from krt_contract.timeline import Source
from krt_scoring import durations
from krt_scoring.history.elections import NO_LEADER
from krt_scoring.outputs.report.charts import lines
from krt_scoring.outputs.report.charts.base import Key, Panel, Table
from krt_scoring.outputs.report.charts.event_words import event_word
from krt_scoring.outputs.report.charts.lanes import Bar, Lane, Mark, of_lanes
from krt_scoring.outputs.report.charts.lines import Line, Style
from krt_scoring.outputs.report.words import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_scoring.outputs.report.charts.axis import Axis
    from krt_scoring.outputs.report.charts.base import Row

MAX_LANES = 12
"""Partitions that are drawn, those with the most changes first; the table has the others too."""

BROKER_COLOURS = 6
"""Colours for brokers; a seventh broker has that of the first, and its number in its bar."""

RED: Style = ("failed", ())
GREEN: Style = ("acked", (7, 4))

NEAR = 40
"""Events of one lane are written together if they are closer than one in so many of the axis."""


def panels(axis: Axis, series: Mapping[str, Any], faults: Sequence[Row]) -> Iterator[Panel]:
    """Yield the panels of the cluster."""
    yield replication(axis, series, faults)
    yield leaders(axis, series, faults)
    yield rebalances(axis, series, faults)
    yield events(axis, series, faults)


def replication(axis: Axis, series: Mapping[str, Any], faults: Sequence[Row]) -> Panel:
    """Return the panel of under-replicated partitions and of the smallest ISR."""
    title = "Replication"
    if not series["partitions"]:
        return Panel("replication", title, "No state of a partition was recorded.")
    short = list(
        zip(*(series["underReplicated"][key] for key in ("at", "partitions")), strict=True)
    )
    least = _least_isr(series["partitions"])
    drawn = []
    for label, style, changes in (
        ("under-replicated partitions, internal topics included", RED, short),
        ("smallest ISR of a tested partition", GREEN, least),
    ):
        inside = _on_axis(axis, changes)
        drawn.append(
            (Line(label, *style, [value for _, value in inside]), [at for at, _ in inside])
        )
    spec = lines.of_steps(axis, drawn, faults, "count")
    most = max((count for at, count in short if axis.inside(at)), default=0)
    smallest = min((size for _, size in _on_axis(axis, least)), default=0)
    text = (
        f"At most {most} partitions were under-replicated, internal topics included; the smallest "
        f"ISR of a tested partition had {smallest} brokers."
    )
    rows = tuple((f"{axis.seconds(at):g} s", str(size)) for at, size in least if axis.inside(at))
    table = Table(("at", "smallest ISR of a tested partition, from then on"), rows)
    legend = (
        Key("under-replicated partitions", *RED),
        Key("smallest ISR of a tested partition", *GREEN),
    )
    return Panel("replication", title, text, spec, table, legend)


def _least_isr(partitions: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Return (time, smallest ISR of all partitions from then on), one entry a change."""
    changes = sorted(
        (at, index, len(isr))
        for index, item in enumerate(partitions)
        for at, isr in zip(item["at"], item["isr"], strict=True)
    )
    sizes: dict[int, int] = {}
    found: list[tuple[int, int]] = []
    for at, index, size in changes:
        sizes[index] = size
        least = min(sizes.values())
        if not found or found[-1][1] != least:
            found.append((at, least))
    return found


def _on_axis(axis: Axis, changes: Sequence[tuple[int, int]]) -> list[tuple[float, int]]:
    """Return changes as seconds, with the value at the start and at the end of the axis."""
    before = [value for at, value in changes if at <= axis.start]
    inside = [(axis.seconds(at), value) for at, value in changes if axis.start < at <= axis.end]
    inside = lines.sparse(inside, axis.length)
    first = [(0.0, before[-1])] if before else []
    last = [(axis.seconds(axis.end), (first + inside)[-1][1])] if first + inside else []
    return [*first, *inside, *last]


def leaders(axis: Axis, series: Mapping[str, Any], faults: Sequence[Row]) -> Panel:
    """Return the panel of each partition's leader."""
    title = "Leader of each partition"
    ordered = sorted(
        series["partitions"], key=lambda item: (-len(item["at"]), item["topic"], item["partition"])
    )
    if not ordered:
        return Panel("leaders", title, "No state of a partition was recorded.")
    shown = sorted(ordered[:MAX_LANES], key=lambda item: (item["topic"], item["partition"]))
    drawn = [_leader_lane(axis, item) for item in shown]
    changes = sum(
        before != after
        for item in ordered
        for before, after in pairwise(leader for leader in item["leader"] if leader != NO_LEADER)
    )
    left_out = len(ordered) - len(shown)
    more = f" {left_out} partitions with fewer changes are in the table only." if left_out else ""
    text = (
        f"{plural(changes, 'change')} of leader. Each bar names its broker; none means "
        f"that the leader's process had ended or was frozen, and no other had been elected.{more}"
    )
    rows = tuple(
        (f"{item['topic']}-{item['partition']}", *_changes(axis, item)) for item in ordered
    )
    table = Table(("partition", "leaders", "without a live leader"), rows)
    return Panel("leaders", title, text, of_lanes(axis, drawn, faults), table)


def _leader_lane(axis: Axis, item: Mapping[str, Any]) -> Lane:
    bars = []
    for since, until, leader in _led(axis, item):
        led = leader != NO_LEADER
        style = f"broker-{leader % BROKER_COLOURS}" if led else "outage"
        name = f"broker {leader}" if led else "no leader"
        bars.append(Bar(axis.seconds(since), axis.seconds(until), style, name))
    for since, until in item["withoutLiveLeader"]:
        if until > axis.start and since < axis.end:
            lasted = durations.show(until - since)
            begin, end = max(since, axis.start), min(until, axis.end)
            note = f"no live leader for {lasted}"
            bars.append(
                Bar(axis.seconds(begin), axis.seconds(end), "outage", f"none, {lasted}", note)
            )
    return Lane(f"{item['topic']}-{item['partition']}", bars)


def _led(axis: Axis, item: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    """Return (from, to, leader) on the axis; a change of the ISR alone is none."""
    found: list[tuple[int, int, int]] = []
    ends = [*item["at"][1:], axis.end]
    for at, end, leader in zip(item["at"], ends, item["leader"], strict=True):
        since, until = max(at, axis.start), min(end, axis.end)
        if until <= since:
            continue
        if found and found[-1][1:] == (since, leader):
            found[-1] = found[-1][0], until, leader
        else:
            found.append((since, until, leader))
    return found


def _changes(axis: Axis, item: Mapping[str, Any]) -> tuple[str, str]:
    leads = []
    last = None
    for at, leader in zip(item["at"], item["leader"], strict=True):
        if leader != last:
            name = "none" if leader == NO_LEADER else f"broker {leader}"
            leads.append(name if at <= axis.start else f"{name} from {axis.seconds(at):g} s")
        last = leader
    without = [durations.show(until - since) for since, until in item["withoutLiveLeader"]]
    return ", ".join(leads), ", ".join(without) or "never"


def rebalances(axis: Axis, series: Mapping[str, Any], faults: Sequence[Row]) -> Panel:
    """Return the panel of the groups' rebalances."""
    title = "Rebalances"
    found = [item for item in series["rebalances"] if axis.inside(item["to"])]
    if not found:
        return Panel("rebalances", title, "No partition was assigned while the run was measured.")
    lanes = []
    for group in sorted({item["group"] for item in found}):
        own = [item for item in found if item["group"] == group]
        bars = [
            Bar(
                axis.seconds(max(item["from"], axis.start)),
                axis.seconds(item["to"]),
                "outage",
                "",
                f"rebalance, {durations.show(item['to'] - item['from'])}",
            )
            for item in own
            if item["to"] > item["from"]
        ]
        marks = _together(
            axis,
            [(item["to"], _assigned(item)) for item in own],
        )
        lanes.append(Lane(group, bars, marks))
    rows = tuple(
        (
            item["group"],
            f"{axis.seconds(item['to']):g} s",
            durations.show(item["to"] - item["from"]),
            str(item["partitions"]),
            str(item["members"]),
        )
        for item in found
    )
    table = Table(("group", "assigned at", "took", "partitions", "members"), rows)
    text = (
        f"{plural(len(found), 'rebalance')}, the first of a group being its start. "
        "A rebalance is drawn from when its first partition was given up to its last assignment."
    )
    return Panel("rebalances", title, text, of_lanes(axis, lanes, faults), table)


def _assigned(item: Mapping[str, Any]) -> str:
    members = plural(item["members"], "member")
    return f"{plural(item['partitions'], 'partition')} to {members}"


def events(axis: Axis, series: Mapping[str, Any], faults: Sequence[Row]) -> Panel:
    """Return the panel of the controller, of sessions and of processes."""
    title = "Controller, sessions and processes"
    found: dict[str, list[tuple[int, str]]] = {}
    columns = (series["events"][key] for key in ("at", "source", "event", "subject"))
    for at, source, event, subject in zip(*columns, strict=True):
        if axis.inside(at):
            word = event_word(source, event, subject)
            found.setdefault(_lane_of(source, subject), []).append((at, word))
    if not found:
        text = "No session, controller or process changed while the run was measured."
        return Panel("events", title, text)
    names = sorted(found, key=lambda name: (name not in _FIRST, name))
    lanes = [Lane(name, (), _together(axis, found[name])) for name in names]
    rows = tuple(
        (f"{axis.seconds(at):g} s", name, word)
        for at, name, word in sorted(
            (at, name, word) for name, own in found.items() for at, word in own
        )
    )
    text = (
        f"{len(rows)} events. A session ended means that ZooKeeper no longer had the broker's "
        "node, fenced that a KRaft controller took the broker for dead; only then is another "
        "leader elected."
    )
    table = Table(("at", "of", "event"), rows)
    return Panel("events", title, text, of_lanes(axis, lanes, faults), table)


CONTROLLER, ENSEMBLE = "Kafka's controller", "ZooKeeper's leader"
_FIRST = (CONTROLLER, ENSEMBLE)


def _lane_of(source: str, subject: str) -> str:
    if source == Source.CONTROLLER:
        return CONTROLLER
    if source == Source.ZOOKEEPER:
        return ENSEMBLE
    return f"broker {subject}" if source == Source.BROKER else _member(subject)


def _member(subject: str) -> str:
    kind, _, ordinal = subject.rpartition("-")
    return f"broker {ordinal}" if kind == "kafka" else subject


def _together(axis: Axis, found: Sequence[tuple[int, str]]) -> list[Mark]:
    """Return marks with their texts, in one text where they would lie on each other."""
    near = (axis.end - axis.start) // NEAR
    marks: list[Mark] = []
    last: int | None = None
    for at, text in sorted(found):
        if last is not None and at - last < near:
            marks[-1] = Mark(marks[-1].at, f"{marks[-1].text}, {text}")
        else:
            marks.append(Mark(axis.seconds(at), text))
        last = at
    return marks
