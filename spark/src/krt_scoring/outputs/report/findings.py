"""The anomalies that were observed, the most severe first, each with histories of its examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_scoring.history.elections import NO_LEADER
from krt_scoring.outputs.report.meanings import MEANINGS
from krt_scoring.outputs.report.words import clock
from krt_scoring.outputs.severity import by_severity, standing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

INLINE = ("presentOnBrokers", "dumped", "lacking")
"""Lists of brokers in an example, shown in its row."""

READERS = 3
"""Deliveries of a history that are named; more are counted."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an example's history: when, what kind of thing, and what happened."""

    at: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Story:
    """The history of one example: what it is about, and its steps in order."""

    title: str
    steps: tuple[Step, ...]


def found(card: Mapping[str, Any], series: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the anomalies that were observed, the most severe first."""
    anomalies = card.get("anomalies", {})
    return [
        {
            "name": name,
            **anomalies[name],
            "standing": standing(anomalies[name]),
            "meaning": MEANINGS.get(name, ""),
            "columns": _columns(anomalies[name].get("examples", [])),
            "stories": stories(anomalies[name].get("examples", []), series),
        }
        for name in by_severity(anomalies)
    ]


def _columns(examples: Sequence[Mapping[str, Any]]) -> list[str]:
    """Columns any example has; nested histories are shown apart, all but short lists."""
    first = ["topic", "partition", "offset", "producer", "producer_incarnation", "seq", "grp"]
    names = {
        key
        for row in examples
        for key, value in row.items()
        if key in INLINE or not isinstance(value, (list, dict))
    }
    return [name for name in first if name in names] + sorted(names - set(first))


def stories(examples: Sequence[Mapping[str, Any]], series: Mapping[str, Any] | None) -> list[Story]:
    """Return the histories of the examples that have one."""
    return [story(example, series) for example in examples if example.get("history")]


def story(example: Mapping[str, Any], series: Mapping[str, Any] | None) -> Story:
    """Return the history of one example.

    Args:
        example: with ``history``, what was sent, stored and delivered around its offset.
        series: for changes of the partition's leader; None where they are not known.
    """
    steps: list[tuple[int, int, Step]] = []
    history = example["history"]
    own = [row for row in history if _same_record(row, example)]
    sent = [row for row in own if row["what"] == "sent"]
    for row in sent:
        place = f" at offset {row['offset']}" if row.get("offset") is not None else ""
        text = f"{row.get('producer', 'a producer')} sent record {row.get('seq')}: "
        text += f"{row.get('state', 'outcome not known')}{place}"
        steps.append((row["at"], 0, Step(clock(row["at"]), "sent", text)))
    since = min((row["at"] for row in sent), default=None)
    steps += [
        (at, 1, Step(clock(at), "leader", text))
        for at, text in _leader_changes(example, series, since)
    ]
    delivered = [row for row in own if row["what"] == "delivered"]
    for row in delivered[:READERS]:
        who = f"group {row.get('grp', 'not known')} ({row.get('consumer', 'a consumer')})"
        text = f"{who} was given it from offset {row.get('offset')}"
        steps.append((row["at"], 3, Step(clock(row["at"]), "read", text)))
    ordered = [step for _, _, step in sorted(steps, key=lambda item: item[:2])]
    ordered.append(Step("in the end", "log", _log(example, history, own)))
    more = len(delivered) - READERS
    if more > 0:
        ordered.append(Step("", "read", f"and {more} more deliveries"))
    if not delivered:
        ordered.append(Step("", "read", "no group was given it"))
    return Story(_title(example), tuple(ordered))


def _title(example: Mapping[str, Any]) -> str:
    place = ""
    if example.get("topic") is not None:
        place = f"{example['topic']}-{example.get('partition', '?')}"
        if example.get("offset") is not None:
            place += f", offset {example['offset']}"
    record = ""
    if example.get("producer") is not None:
        record = f"record {example.get('seq', '?')} of {example['producer']}"
    return ": ".join(part for part in (place, record) if part) or "example"


def _same_record(row: Mapping[str, Any], example: Mapping[str, Any]) -> bool:
    keys = ("producer", "producer_incarnation", "seq")
    if example.get("seq") is None:
        return bool(row.get("offset") == example.get("offset"))
    return all(row.get(key) == example.get(key) for key in keys if example.get(key) is not None)


def _leader_changes(
    example: Mapping[str, Any], series: Mapping[str, Any] | None, since: int | None
) -> Iterator[tuple[int, str]]:
    """Yield the first changes of the partition's leader after a send."""
    if series is None or since is None:
        return
    here = (example.get("topic"), example.get("partition"))
    for item in series["partitions"]:
        if (item["topic"], item["partition"]) != here:
            continue
        changes = [
            (at, before, after)
            for at, before, after in zip(
                item["at"][1:], item["leader"], item["leader"][1:], strict=False
            )
            if at >= since and before != after
        ]
        for at, before, after in changes[:2]:
            left = "no leader" if before == NO_LEADER else f"broker {before}"
            came = "no leader" if after == NO_LEADER else f"broker {after}"
            yield at, f"the leader of the partition changed from {left} to {came}"


def _log(
    example: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    own: Sequence[Mapping[str, Any]],
) -> str:
    """Say what the log holds of the record, or in its place."""
    mine = [row for row in own if row["what"] == "log"]
    if mine and example.get("seq") is not None:
        places = ", ".join(str(row.get("offset")) for row in mine)
        return f"the log holds it at offset {places}"
    offset = example.get("offset")
    if offset is None:
        return "the log does not hold it"
    there = [row for row in history if row["what"] == "log" and row.get("offset") == offset]
    if not there:
        return f"the log holds nothing at offset {offset}"
    row = there[0]
    return (
        f"the log holds record {row.get('seq', '?')} of {row.get('producer', 'nobody known')} at "
        f"offset {offset}" + (" instead" if example.get("seq") is not None else "")
    )
