"""Which corruptions were detected exactly, and how the scorecard reports it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_scoring.inputs.reasons import Reason
from krt_scoring.selftest.difference import Difference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_scoring.selftest.corruption import Corruption
    from krt_scoring.selftest.difference import Finding
    from krt_scoring.selftest.packing import Copy

NEAR = 3
"""Offsets from what a corruption changed within which a difference nobody expects is its own."""


@dataclass(frozen=True)
class CorruptionResult:
    """One corruption and whether it was detected.

    Attributes:
        at: topic, partition and offset, as far as it has them.
        unexpected: what differed from the expected difference; empty where it was detected.
    """

    name: str
    at: dict[str, Any]
    expected: Difference
    unexpected: Difference
    detected: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the scorecard holds it."""
        document: dict[str, Any] = {
            "name": self.name,
            "at": self.at,
            "expected": self.expected.as_dict(),
            "detected": self.detected,
        }
        if not self.detected:
            document["unexpected"] = self.unexpected.as_dict()
        return document


@dataclass(frozen=True)
class SelfTestResult:
    """How many corruptions were detected, of those the run could host.

    Attributes:
        inapplicable: name of a corruption → what the run lacks for it.
    """

    results: tuple[CorruptionResult, ...]
    inapplicable: dict[str, str]

    @property
    def detected(self) -> int:
        """Corruptions detected with exactly their difference."""
        return sum(item.detected for item in self.results)

    @property
    def total(self) -> int:
        """Corruptions the run could host."""
        return len(self.results)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the scorecard holds it."""
        ordered = sorted(self.results, key=lambda item: item.name)
        return {
            "detected": self.detected,
            "total": self.total,
            "corruptions": [item.as_dict() for item in ordered],
            "inapplicable": [
                {"name": name, "needs": self.inapplicable[name]}
                for name in sorted(self.inapplicable)
            ],
        }

    def reason(self) -> Reason | None:
        """Return why a run whose corruptions were missed cannot pass, None where none was missed.

        Coverage: a violation that was found stands all the same.
        """
        missed = sorted(item.name for item in self.results if not item.detected)
        if not missed:
            return None
        text = (
            f"{len(missed)} of {self.total} corruptions of this run's own evidence were not "
            f"detected as expected ({', '.join(missed)}), so anomalies of the run may have been "
            "missed as well. Keep the bundle and report this as a bug"
        )
        return Reason("coverage", "DetectorFailed", "selfTest", text)


def results_of(copy: Copy, actual: Difference) -> list[CorruptionResult]:
    """Return the result of each corruption of a copy.

    What differs from the sum of the expected differences is attributed to the corruption that
    expected it or changed something near it; where there is none, to all corruptions of the copy.
    """
    left = actual - copy.expected
    mine = [_own(item, left) for item in copy.corruptions]
    known = sum(mine, Difference())
    stray = Difference(
        Counter({f: n for f, n in left.findings.items() if f not in known.findings}),
        Counter({t: n for t, n in left.ledger.items() if t not in known.ledger}),
        left.reasons - known.reasons,
    )
    results = []
    for item, own in zip(copy.corruptions, mine, strict=True):
        unexpected = own + stray
        results.append(
            CorruptionResult(item.name, _at(item), item.expected, unexpected, not unexpected)
        )
    return results


def _own(item: Corruption, left: Difference) -> Difference:
    findings = {
        finding: count
        for finding, count in left.findings.items()
        if finding in item.expected.findings or _near(item, finding)
    }
    ledger = {term: n for term, n in left.ledger.items() if term in item.expected.ledger}
    return Difference(
        Counter(findings),
        Counter(ledger),
        left.reasons & item.expected.reasons,
    )


def _near(item: Corruption, finding: Finding) -> bool:
    touched: Iterable[Any] = item.patch.touches
    return finding.offset is not None and any(
        # A send ends with its seq, a place with its offset; a partition is a number.
        (thing[0], thing[1]) == (finding.topic, finding.partition)
        and abs(thing[2] - finding.offset) <= NEAR
        for thing in touched
    )


def _at(item: Corruption) -> dict[str, Any]:
    if item.at is None:
        return {}
    named = zip(("topic", "partition", "offset"), item.at, strict=True)
    return {name: value for name, value in named if value is not None}
