"""Each component of the score as a sentence with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring import durations
from krt_scoring.outputs.report.words import number, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def explain(name: str, inputs: Mapping[str, int]) -> str:
    """Return what a component of the score was computed from, in a sentence."""
    known = _SENTENCES.get(name)
    try:
        if known is not None:
            return known(inputs)
    except KeyError:
        pass
    return ", ".join(f"{key} {value}" for key, value in inputs.items())


def _durability(inputs: Mapping[str, int]) -> str:
    lost, permitted = inputs["lostViolations"], inputs["lostPermitted"]
    text = (
        f"Of {plural(inputs['acked'], 'acknowledged record')}, {number(lost)} were lost against "
        f"the configuration and {number(permitted)} as it permits"
    )
    return f"{text}; the objective accepts {number(inputs['lostLimit'])}."


def _ordering(inputs: Mapping[str, int]) -> str:
    return (
        f"Over {plural(inputs['acked'], 'acknowledged record')}, {_findings(inputs)} about their "
        "order in the log and in what was read."
    )


def _delivery(inputs: Mapping[str, int]) -> str:
    return (
        f"Over {number(inputs['deliveries'])} deliveries, {_findings(inputs)} about duplicates and "
        f"skips; {number(inputs['deliveredLate'])} records were delivered late and "
        f"{number(inputs['undelivered'])} never."
    )


def _findings(inputs: Mapping[str, int]) -> str:
    return (
        f"{number(inputs['violations'])} findings against the configuration and "
        f"{number(inputs['permitted'])} that it permits"
    )


def _availability(inputs: Mapping[str, int]) -> str:
    return (
        f"Writes: {_against(inputs.get('value0'), inputs['limit0'])}. "
        f"Reads: {_against(inputs.get('value1'), inputs['limit1'])}. The worse of the two counts."
    )


def _against(value: int | None, limit: int) -> str:
    if value is None:
        return f"not measured, against an objective of {durations.show(limit)}"
    return (
        f"the longest gap, or the detection limit if that is longer, was {durations.show(value)} "
        f"against an objective of {durations.show(limit)}"
    )


def _recovery(inputs: Mapping[str, int]) -> str:
    if not inputs:
        return "No fault affected anything, so there was nothing to recover from."
    took = (
        f"The longest recovery took {durations.show(inputs['value'])}"
        if inputs["value"]
        else "Everything had recovered before the faults were reverted"
    )
    return f"{took}; the objective is {durations.show(inputs['limit'])}."


_SENTENCES: Mapping[str, Callable[[Mapping[str, int]], str]] = {
    "durability": _durability,
    "ordering": _ordering,
    "delivery": _delivery,
    "availability": _availability,
    "recovery": _recovery,
}
