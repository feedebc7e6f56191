"""Claims in one word: None, Allowed or Required, of something the rules look for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_scoring.expectations.processing import count_processing
from krt_scoring.expectations.result import Result, unmeasured
from krt_scoring.history.elections import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence

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
"""Claim → the anomalies it is about."""

EXPECTED = {
    "None": "none",
    "Allowed": "only what the settings permit",
    "Required": "at least one, and only what the settings permit",
}


def judge(expect: Mapping[str, Any], evidence: Evidence) -> Iterator[Result]:
    """Yield the results of the claims in one word."""
    for claim, names in ANOMALIES.items():
        if claim in expect:
            yield _of_anomalies(claim, expect[claim], names, evidence)
    if "uncleanElections" in expect:
        yield _unclean(expect["uncleanElections"], evidence)
    for claim in ("unprocessed", "processedTwice"):
        if claim in expect:
            yield _of_processing(claim, expect[claim], evidence)


def occurred(claim: str, word: str, count: int, forbidden: int, seen: str) -> Result:
    """Return the result of a claim in one word.

    Args:
        claim: its name.
        word: None, Allowed or Required.
        count: how often it was found.
        forbidden: how often of these no setting permits it.
        seen: what was found, in words.
    """
    held = {
        "None": count == 0,
        "Allowed": forbidden == 0,
        "Required": count > 0 and forbidden == 0,
    }[word]
    numbers = {"value": count, "notPermitted": forbidden}
    return Result(claim, EXPECTED[word], "Met" if held else "NotMet", seen, numbers)


def _of_anomalies(claim: str, word: str, names: tuple[str, ...], evidence: Evidence) -> Result:
    damaged = sorted(evidence.void.intersection(names))
    if damaged or not all(name in evidence.anomalies for name in names):
        return unmeasured(claim, EXPECTED[word], f"evidence is damaged for {', '.join(damaged)}")
    found = [evidence.anomalies[name] for name in names]
    count = sum(item.count for item in found)
    if claim == "loss":
        # Both count a lost record; the ledger also knows those whose log could not be read.
        count = max(count, evidence.ledger.get("lost", 0))
    forbidden = sum(item.violations for item in found)
    rules = sorted({rule for item in found for rule in item.rules})
    seen = f"{count} {found[0].unit}"
    if count and rules:
        seen += f", permitted by {', '.join(rules)}"
    if forbidden:
        seen += f", {forbidden} permitted by nothing"
    return occurred(claim, word, count, forbidden, seen)


def _unclean(word: str, evidence: Evidence) -> Result:
    claim = "uncleanElections"
    if not evidence.states.known:
        return unmeasured(claim, EXPECTED[word], "the timeline shows no state of a partition")
    topics = [
        place[0]
        for place, before, after in evidence.states.changes(0, evidence.end)
        if after.epoch > before.epoch and after.leader not in {*before.isr, NO_LEADER}
    ]
    count = len(topics)
    forbidden = sum(not evidence.run.unclean_election(topic) for topic in topics)
    if evidence.states.missed(0, evidence.end) and not forbidden and word != "Required":
        return unmeasured(claim, EXPECTED[word], f"{count} seen, but some states were not")
    return occurred(claim, word, count, forbidden, f"{count} elections from outside the ISR")


def _of_processing(claim: str, word: str, evidence: Evidence) -> Result:
    if not any(consumer.commit == "BeforeProcessing" for consumer in evidence.run.consumers):
        return unmeasured(claim, EXPECTED[word], "no group commits BeforeProcessing")
    if not evidence.files.get("consume"):
        return unmeasured(claim, EXPECTED[word], "there are no deliveries")
    count = count_processing(evidence)[claim]
    return occurred(claim, word, count, 0, f"{count} (record, group)")
