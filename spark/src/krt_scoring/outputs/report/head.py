"""The head of the report: what happened and what it means in one sentence, and four tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_scoring import durations
from krt_scoring.outputs import objective_values
from krt_scoring.outputs.report.words import number, plural
from krt_scoring.outputs.severity import by_severity
from krt_scoring.verdict.score_inputs import LOSS

if TYPE_CHECKING:
    from collections.abc import Mapping

TILES = {
    "lostRecords": "Lost acknowledged records",
    "maxWriteUnavailability": "Longest write outage",
    "maxReadUnavailability": "Longest read outage",
    "maxRecovery": "Recovery",
}
"""Objective → the heading of its tile."""

MEANINGS = {
    "Passed": "Kafka kept what its configuration promises, and every objective was met.",
    "Degraded": "Kafka kept what its configuration promises, but not every objective was met.",
    "Failed": "That breaks a promise of Kafka's under this configuration.",
}
"""Verdict → what it means."""

FULL = 100
"""Percent of a meter."""


@dataclass(frozen=True, slots=True)
class Meter:
    """A value to scale against its objective; percent of the meter's width.

    Attributes:
        value: length of the bar.
        objective: where the objective's limit is.
        limit: where the detection limit is; None where it is not known.
    """

    value: int
    objective: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Tile:
    """One number of the head.

    Attributes:
        name: the objective; also the tile's anchor.
        title: its heading.
        value: what was measured, in words; never 0 for what was not seen.
        objective: the objective and whether it was met, in words.
        met: whether it was; None where that is not known.
        limit: how small a thing would still have been seen.
        meter: the value to scale; None where there is none.
    """

    name: str
    title: str
    value: str
    objective: str
    met: bool | None
    limit: str
    meter: Meter | None = None


def tiles(card: Mapping[str, Any]) -> list[Tile]:
    """Return the four tiles of a run."""
    objectives = {item["name"]: item for item in card.get("objectives", [])}
    return [_tile(name, objectives.get(name), card) for name in TILES]


def _tile(name: str, item: Mapping[str, Any] | None, card: Mapping[str, Any]) -> Tile:
    if item is None:
        value = "not recorded"
        if name == "lostRecords" and "lost" in card.get("ledger", {}):
            value = number(card["ledger"]["lost"])
        return Tile(name, TILES[name], value, "no objective recorded", None, "")
    value = objective_values.show(item, "value", number)
    if name == "lostRecords" and "value" in item:
        value = number(item["value"]) if item["value"] or _complete(card) else "none found"
    objective = f"objective: at most {objective_values.show(item, 'limit', number)}"
    return Tile(
        name,
        TILES[name],
        value,
        f"{objective}, {'met' if item['met'] else 'missed'}",
        item["met"],
        _limit(name, item, card),
        _meter(item) if item["unit"] == "us" else None,
    )


def _complete(card: Mapping[str, Any]) -> bool:
    """Return whether every acknowledged record could be looked up."""
    return not any(
        set(LOSS) & set(reason.get("invalidates", []))
        for reason in card.get("inconclusiveReasons", [])
    )


def _limit(name: str, item: Mapping[str, Any], card: Mapping[str, Any]) -> str:
    if name == "lostRecords":
        if not _complete(card):
            return "detection limit: not known, since evidence is missing"
        acked = number(card.get("ledger", {}).get("acked", 0))
        return f"detection limit: 1 record; all {acked} acknowledged were looked up in the log"
    if "detectionLimit" in item:
        return f"detection limit: {durations.show(item['detectionLimit'])}"
    if name == "maxRecovery":
        return "detection limit: those of the outages; ISR changes to the millisecond"
    return "detection limit: not recorded"


def _meter(item: Mapping[str, Any]) -> Meter | None:
    value, limit = item.get("value"), item["limit"]
    unseen = item.get("detectionLimit")
    if value is None and unseen is None:
        return None
    # A fifth of the meter is left beyond the objective, more where the value needs it.
    whole = max(limit * 6 // 5, value or 0, unseen or 0, 1)
    return Meter(
        FULL * (value or 0) // whole,
        FULL * limit // whole,
        None if unseen is None else FULL * unseen // whole,
    )


def sentence(card: Mapping[str, Any]) -> str:
    """Return what happened and what it means, in one or two sentences."""
    if "ledger" not in card:
        return "Nothing was judged: what the run should have done is not known."
    return f"{_faults(card)}: {_lost(card)}{_outages(card)}. {_meaning(card)}"


def _faults(card: Mapping[str, Any]) -> str:
    found = [fault for fault in card.get("faults", []) if "injectedAt" in fault]
    if not found:
        return "No fault was injected"
    if len(found) > 1:
        names = ", ".join(fault["name"] for fault in found)
        return f"{plural(len(found), 'fault')} were injected ({names})"
    (fault,) = found
    pods = sorted({str(target.get("pod", "")) for target in fault.get("targets", [])} - {""})
    whom = f" hit {', '.join(pods)}" if pods else " was injected"
    lasted = fault.get("revertedAt", fault["injectedAt"]) - fault["injectedAt"]
    span = f" for {durations.show(lasted)}" if lasted else ""
    return f"Fault {fault['name']} ({fault.get('action', 'action not recorded')}){whom}{span}"


def _lost(card: Mapping[str, Any]) -> str:
    lost = card["ledger"].get("lost", 0)
    if not lost:
        some = "" if _complete(card) else ", though evidence of some is missing"
        return f"no acknowledged record was found lost{some}"
    anomalies = card.get("anomalies", {})
    of_loss = [anomalies[name] for name in LOSS if name in anomalies]
    classes = {item["class"] for item in of_loss}
    found = f"{plural(lost, 'acknowledged record')} {'were' if lost > 1 else 'was'}"
    if "Violation" in classes:
        return f"{found} lost, which the configuration does not permit"
    if "Void" in classes:
        return f"{found} not found, which proves no loss, because evidence is missing"
    permitted = {rule for item in of_loss for rule in item["rules"]}
    return f"{found} lost, as the configuration permits ({', '.join(sorted(permitted))})"


def _outages(card: Mapping[str, Any]) -> str:
    objectives = {item["name"]: item for item in card.get("objectives", [])}
    if not objectives:
        return "; outages are not recorded here"
    write = _outage(objectives.get("maxWriteUnavailability", {}), "write")
    read = _outage(objectives.get("maxReadUnavailability", {}), "read")
    return f", {write}, and {read}"


def _outage(item: Mapping[str, Any], direction: str) -> str:
    if item.get("value"):
        what = "writes to" if direction == "write" else "reads of"
        return f"{what} a partition stopped for up to {durations.show(item['value'])}"
    if "detectionLimit" in item:
        limit = durations.show(item["detectionLimit"])
        return f"no {direction} outage longer than {limit} was seen"
    return f"{direction} outages were not measured"


def _meaning(card: Mapping[str, Any]) -> str:
    verdict = card["verdict"]
    if verdict == "Inconclusive":
        reasons = card.get("inconclusiveReasons", [])
        first = f" ({reasons[0]['code']})" if reasons else ""
        return f"The run proves nothing about Kafka, because its evidence does not suffice{first}."
    if verdict == "Failed":
        anomalies = card.get("anomalies", {})
        names = [n for n in by_severity(anomalies) if anomalies[n]["class"] == "Violation"]
        return (
            f"{MEANINGS[verdict]} Not permitted: {', '.join(names)}."
            if names
            else MEANINGS[verdict]
        )
    missed = [item["name"] for item in card.get("objectives", []) if not item["met"]]
    if verdict == "Degraded" and missed:
        return f"{MEANINGS[verdict][:-1]}: {', '.join(missed)}."
    return MEANINGS.get(verdict, "")
