"""Both checkers over the same histories, and what they say differently."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.spark.anomalies.histories import detect_side_by_side
from tests.spark.anomalies.language import SECOND, Case
from tests.spark.oracle.checker import Judgement, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

    Scorer = Callable[[list[Case]], dict[str, Judgement]]

APART = 10_000 * SECOND
"""How far apart the clocks of cases are: no fault of one is another's."""

BATCH = 300
"""Cases in one run."""
GROUPS = 12
"""Groups of different settings in one run: the scorer numbers up to 16."""


def parse(name: str, text: str, number: int) -> Case:
    """Return a history as a case that can be judged beside others."""
    return Case(name, number=number, start=number * APART).parse(text)


def batches(texts: Iterable[tuple[str, str]]) -> Iterator[list[Case]]:
    """Divide histories into runs that the scorer can judge side by side.

    Groups that are one history's own have their commits in partitions of their own, whose elections
    are then those of one history.
    """
    batch: list[Case] = []
    groups: set[str] = set()
    for name, text in texts:
        case = parse(name, text, len(batch) + 1)
        own = {case.group(group) for group in case.groups}
        full = len(batch) == BATCH or len(groups | own) > GROUPS
        if batch and (full or taken(batch, case)):
            yield batch
            batch, groups = [], set()
            case = parse(name, text, 1)
        groups |= own
        batch.append(case)
    if batch:
        yield batch


def taken(batch: list[Case], case: Case) -> bool:
    """Whether a case has events of a __consumer_offsets partition that another in the batch has."""
    of_batch = {event.subject for one in batch for event in one.events}
    own = {event.subject for event in case.events if event.subject.startswith("__consumer")}
    return bool(of_batch & own)


def scorer(spark: SparkSession) -> Scorer:
    """Return the scorer as a function from cases to what it says of each."""

    def judgements(cases: list[Case]) -> dict[str, Judgement]:
        return {
            name: Judgement(outcome.findings, +outcome.void, outcome.outcomes)
            for name, outcome in detect_side_by_side(spark, cases).items()
        }

    return judgements


def difference(reference: Judgement, scored: Judgement) -> list[str]:
    """Return what two judgements say differently, a line each."""
    lines: list[str] = []
    for finding in sorted({*reference.findings, *scored.findings}, key=str):
        pair = reference.findings[finding], scored.findings[finding]
        if pair[0] != pair[1]:
            lines.append(f"{finding[0]} {finding[1] or 'violation'}: {pair[0]} != {pair[1]}")
    for name in sorted({*reference.void, *scored.void}):
        pair = reference.void[name], scored.void[name]
        if pair[0] != pair[1]:
            lines.append(f"void {name}: {pair[0]} != {pair[1]}")
    for name in sorted({*reference.outcomes, *scored.outcomes}):
        pair = reference.outcomes.get(name, 0), scored.outcomes.get(name, 0)
        if pair[0] != pair[1]:
            lines.append(f"outcome {name}: {pair[0]} != {pair[1]}")
    return lines


def differences(cases: list[Case], score: Scorer) -> dict[str, list[str]]:
    """Return the cases that the reference checker and the scorer judge differently."""
    scored = score(cases)
    found: dict[str, list[str]] = {}
    for case in cases:
        if lines := difference(judge(case), scored[case.name]):
            found[case.name] = lines
    return found


def without(judgement: Judgement, anomaly: str) -> Judgement:
    """Return a judgement that misses an anomaly."""
    kept = {key: value for key, value in judgement.findings.items() if key[0] != anomaly}
    void = {name: value for name, value in judgement.void.items() if name != anomaly}
    return replace(judgement, findings=Counter(kept), void=Counter(void))


def permitting(judgement: Judgement, anomaly: str) -> Judgement:
    """Return a judgement that permits an anomaly by a rule that does not exist."""
    findings: Counter[tuple[str, str | None]] = Counter()
    for (name, rule), count in judgement.findings.items():
        findings[name, "wrong-rule" if name == anomaly else rule] += count
    return replace(judgement, findings=findings)
