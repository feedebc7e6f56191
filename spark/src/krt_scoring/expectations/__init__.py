"""Claims: what ``spec.expect`` says Kafka will do, held against the evidence.

Apart from the verdict on the data. Each module judges the claims of one kind and is a pure function
of the evidence; a claim that the evidence does not reach is NotEvaluated, never Met.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from krt_scoring.expectations import (
    admin_requests,
    broker_return,
    coordination_changes,
    counts,
    groups,
    keys,
    leadership,
    node_spread,
    occurrences,
    rack_locality,
    replicas,
    unavailability,
)
from krt_scoring.expectations.result import Result, unmeasured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from krt_scoring.expectations.evidence import Evidence

OF_FAULT = (
    leadership,
    replicas,
    coordination_changes,
    unavailability,
    admin_requests,
    broker_return,
)
"""Modules with claims on one fault: ``of_fault(expect, window, end, evidence)``."""

OF_RUN = (occurrences, counts, groups, rack_locality, keys, node_spread)
"""Modules with claims on the whole run: ``judge(expect, evidence)``."""

REVERTED = "Reverted"

MAX_TOLD, MAX_NAME = 5, 80
"""Claims that the termination message names, and characters of each: it holds 2 KiB in all."""


def judge(evidence: Evidence) -> tuple[Result, ...]:
    """Return the result of every claim of the run's spec, in the order of the documentation."""
    return tuple(_judge(evidence.run.resolved_spec.get("expect") or {}, evidence))


def _judge(expect: Mapping[str, Any], evidence: Evidence) -> Iterator[Result]:
    if wanted := expect.get("error"):
        expected = f"ends in phase Error with {wanted}"
        yield Result("error", expected, "NotMet", "it was run and its evidence judged")
    for module in OF_RUN:
        yield from module.judge(expect, evidence)
    yield from leadership.at_end(expect, evidence)
    for item in expect.get("faults") or ():
        yield from _of_fault(item, evidence)


def _of_fault(expect: Mapping[str, Any], evidence: Evidence) -> Iterator[Result]:
    window = evidence.window(expect["name"])
    if window is None:
        for field, value in expect.items():
            if field not in {"name", "until"} and value:
                why = "nothing shows that the fault acted"
                claim = _named(expect, f"{expect['name']}.{field}")
                yield unmeasured(claim, "as claimed", why)
        return
    until = window.reverted_at if expect.get("until") == REVERTED else window.recovered_at
    end = evidence.end if until is None else until
    for module in OF_FAULT:
        for result in module.of_fault(expect, window, end, evidence):
            yield replace(result, claim=_named(expect, result.claim))


def _named(expect: Mapping[str, Any], claim: str) -> str:
    """Return the claim's name, which says so where it is about the time the fault was held only."""
    name = str(expect["name"])
    if expect.get("until") != REVERTED:
        return claim
    return f"{name} while held{claim.removeprefix(name)}"


def told(results: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what the termination message says of the claims; None where none was made.

    Args:
        results: ``claims`` of the scorecard.
    """
    if not results:
        return None
    return {
        "met": sum(item["result"] == "Met" for item in results),
        "notMet": _first([item["expectation"] for item in results if item["result"] == "NotMet"]),
        "notEvaluated": _first(
            [item["expectation"] for item in results if item["result"] == "NotEvaluated"]
        ),
    }


def _first(claims: list[str]) -> list[str]:
    more = [f"and {len(claims) - MAX_TOLD} more"] if len(claims) > MAX_TOLD else []
    return [claim[:MAX_NAME] for claim in claims[:MAX_TOLD]] + more
