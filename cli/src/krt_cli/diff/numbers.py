"""The numbers of runs beside each other, with their differences to the first run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_contract import durations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

OBJECTIVES = {
    "lostRecords": "lost acknowledged records",
    "maxWriteUnavailability": "longest write outage",
    "maxReadUnavailability": "longest read outage",
    "maxRecovery": "recovery",
}
LEDGER = ("attempted", "acked", "failed", "unknown", "undelivered", "deliveredLate")
LATENCIES = (
    ("write", "produce latency"),
    ("endToEnd", "end-to-end latency"),
)
PARTS = ("before", "during")
PERCENTILES = ("p50", "p99", "max")

MISSING = "not recorded"


@dataclass(frozen=True, slots=True)
class Value:
    """A value of one run.

    Attributes:
        text: as people read it.
        number: to compare it by; None where it is none.
        show: how a difference of such numbers is written.
    """

    text: str
    number: float | None = None
    show: Callable[[float], str] = lambda number: f"{number:.0f}"


@dataclass(frozen=True, slots=True)
class Row:
    """One number of all runs, in words.

    Attributes:
        name: what it is of.
        values: of each run; behind all but the first, the difference to it.
        same: whether it is the same in all runs.
    """

    name: str
    values: tuple[str, ...]
    same: bool


def rows(cards: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the numbers of the runs' scorecards."""
    found = [dict(_values(card)) for card in cards]
    names = list(dict.fromkeys(name for values in found for name in values))
    return [_row(name, [values.get(name, Value(MISSING)) for values in found]) for name in names]


def _row(name: str, values: Sequence[Value]) -> Row:
    first, *others = values
    texts = [first.text, *(_with_difference(first, other) for other in others)]
    return Row(name, tuple(texts), len({value.text for value in values}) == 1)


def _with_difference(first: Value, other: Value) -> str:
    if first.number is None or other.number is None or first.number == other.number:
        return other.text
    difference = other.number - first.number
    sign = "+" if difference > 0 else "-"
    return f"{other.text} ({sign}{other.show(abs(difference))})"


def _values(card: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    yield "verdict", Value(card["verdict"])
    score = card.get("score")
    tenths = "{:.1f}".format
    yield "score", Value("none") if score is None else Value(tenths(score), score, tenths)
    objectives = {item["name"]: item for item in card.get("objectives", [])}
    for name, title in OBJECTIVES.items():
        if name in objectives:
            yield title, _objective(objectives[name])
    ledger = card.get("ledger", {})
    for name in LEDGER:
        if name in ledger:
            yield f"records {name}", Value(str(ledger[name]), ledger[name])
    yield from _latencies(card)
    for name, item in card.get("anomalies", {}).items():
        if item["count"]:
            yield f"anomaly {name}", Value(str(item["count"]), item["count"])
    results = card.get("expectationResults", [])
    if results:
        met = sum(item["result"] == "Met" for item in results)
        yield "expectations met", Value(f"{met} of {len(results)}")


def _latencies(card: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for kind, title in LATENCIES:
        for part in PARTS:
            item = card.get("latency", {}).get(kind, {}).get(part, {})
            for percentile in PERCENTILES if item.get("count") else ():
                yield f"{title} {part} faults, {percentile}", _duration(item[percentile])


def _objective(item: Mapping[str, Any]) -> Value:
    """Return the value of an objective; what was not seen is no number."""
    if item["unit"] != "us":
        return Value(str(item["value"]), item["value"]) if "value" in item else Value(MISSING)
    if "value" in item and item.get("atLeast"):
        # No number: how much longer it is than another one is not known.
        return Value(f"at least {durations.show(item['value'])}")
    if "value" in item and (item["value"] or "detectionLimit" not in item):
        return _duration(item["value"])
    if "detectionLimit" in item:
        return Value(f"none longer than {durations.show(item['detectionLimit'])}")
    return Value("no effect seen" if not item.get("affected", True) else MISSING)


def _duration(micros: int) -> Value:
    return Value(durations.show(micros), micros, lambda number: durations.show(int(number)))
