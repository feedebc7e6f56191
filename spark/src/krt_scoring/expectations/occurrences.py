"""Expectations in one word: None, Allowed or Required, of something that the rules look for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.expectations.results import (
    OCCURRENCES,
    Result,
    evaluate_occurrence,
    not_evaluated,
)
from krt_scoring.history.elections import Electorate
from krt_scoring.inputs.reasons import invalidated, wholly_invalidated
from krt_scoring.metrics.partition_states import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krt_contract.plan import Plan
    from krt_scoring.anomalies.results import Detection
    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.metrics.partition_states import States

ANOMALIES = {
    "loss": ("lost-write",),
    "vanishedReads": ("vanished-read",),
    "duplicateWrites": ("duplicate-write",),
    "redeliveries": ("duplicate-delivery",),
    "undelivered": ("unseen",),
    "reordering": (
        "nonmonotonic-send",
        "int-nonmonotonic-send",
        "nonmonotonic-poll",
        "int-nonmonotonic-poll",
        "key-order",
    ),
    "abortedReads": ("aborted-read",),
    "acceptedBelowMinIsr": ("accepted-below-min-isr",),
    "doubleOwnership": ("double-ownership",),
}
"""Expectation → the anomalies that it is about."""


def undecided_anomalies(detection: Detection, reasons: Iterable[Reason]) -> frozenset[str]:
    """Return the anomalies that missing evidence leaves open.

    Where a violation stands beside what is void, the anomaly was observed.
    """
    reasons = tuple(reasons)
    whole = wholly_invalidated(reasons)
    standing = {item.name for item in detection.anomalies if item.violations > item.void} - whole
    return invalidated(reasons) - standing


def _of_polled(expectation: str, word: str, states: States, start: int, end: int) -> Result:
    """Return the result for a polled cluster: where no epoch grew, there was no election at all."""
    seen = {place for place, _ in states.electorates(start, end)}
    elected = seen | states.missed_leaders(start, end)
    if elected:
        cause = (
            f"elections of {names(elected)} were seen or may have been missed, and polling does "
            "not show who was in the ISR then"
        )
        return not_evaluated(expectation, OCCURRENCES[word], cause)
    return evaluate_occurrence(expectation, word, 0, 0, "no election, by the leader epochs")


def evaluate_anomalies(
    expect: Mapping[str, Any],
    detection: Detection,
    undecided: frozenset[str],
    unchecked: frozenset[str] = frozenset(),
) -> Iterator[Result]:
    """Yield the results of the expectations about anomalies.

    Args:
        expect: ``spec.expect``.
        detection: what the rules detected.
        undecided: the anomalies that missing evidence leaves open.
        unchecked: the anomalies that the run does not look for.
    """
    for expectation, anomalies in ANOMALIES.items():
        if expectation not in expect:
            continue
        word = expect[expectation]
        damaged = sorted(undecided & set(anomalies))
        if unchecked & set(anomalies):
            cause = f"the run does not look for {', '.join(sorted(unchecked & set(anomalies)))}"
            yield not_evaluated(expectation, OCCURRENCES[word], cause)
        elif damaged:
            cause = f"the evidence of {', '.join(damaged)} is damaged"
            yield not_evaluated(expectation, OCCURRENCES[word], cause)
        else:
            yield _of_anomalies(expectation, word, anomalies, detection)


def _of_anomalies(
    expectation: str, word: str, anomalies: tuple[str, ...], detection: Detection
) -> Result:
    found = [detection.anomaly(name) for name in anomalies]
    count = sum(item.count for item in found)
    if expectation == "loss":
        # Both count a lost record; the ledger also has those whose log could not be read.
        count = max(count, detection.ledger.get("lost", 0))
    violations = sum(item.violations for item in found)
    rules = sorted({rule for item in found for rule in item.rules})
    observed = f"{count} {found[0].unit}"
    if count and rules:
        observed += f", permitted by {', '.join(rules)}"
    if violations:
        observed += f", {violations} not permitted"
    return evaluate_occurrence(expectation, word, count, violations, observed)


def evaluate_elections(
    expect: Mapping[str, Any], states: States, run: Plan, end: int, start: int = 0
) -> Iterator[Result]:
    """Yield the result of ``uncleanElections``.

    Args:
        expect: ``spec.expect``.
        states: the states of the tested partitions.
        run: the plan.
        end: when the run ended, UTC µs.
        start: when the traffic of the run began, UTC µs.
    """
    expectation = "uncleanElections"
    if expectation not in expect:
        return
    word = expect[expectation]
    if not states.known:
        cause = "the timeline shows no state of a partition"
        yield not_evaluated(expectation, OCCURRENCES[word], cause)
        return
    outside = [
        (run.unclean_election(place[0]), electorate)
        for place, electorate in states.electorates(0, end)
        if electorate in {Electorate.OUTSIDE, Electorate.LAST_KNOWN_LEADER}
    ]
    # KRaft elects the last leader it knows without the setting; with it, nothing tells the two.
    unclean = [item for item in outside if item != (False, Electorate.LAST_KNOWN_LEADER)]
    count, last_known = len(unclean), len(outside) - len(unclean)
    not_permitted = sum(not permitted for permitted, _ in unclean)
    if states.observed:
        yield _of_polled(expectation, word, states, start, end)
        return
    # One that was seen decides, whatever else there was; that none was seen does not.
    decided = not_permitted or (count and word != "Allowed")
    if not decided and states.missed(0, end):
        cause = f"{count} elections observed, but some states were not recorded"
        yield not_evaluated(expectation, OCCURRENCES[word], cause)
        return
    observed = f"{count} elections from outside the ISR"
    if last_known:
        observed += f", and {last_known} of the last known leader"
    yield evaluate_occurrence(expectation, word, count, not_permitted, observed)
