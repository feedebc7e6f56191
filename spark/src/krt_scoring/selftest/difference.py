"""Differences between the results of two detections, exact to the single finding."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from krt_scoring.inputs.reasons import Reason


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of ``schema.FINDING`` without its ``detail``, which is for people."""

    anomaly: str
    rule: str | None = None
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    producer: str | None = None
    producer_incarnation: str | None = None
    seq: int | None = None
    grp: str | None = None
    consumer: str | None = None
    incarnation: str | None = None
    event_seq: int | None = None
    tag: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return what the finding names; what it is not about is left out."""
        named = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in named.items() if value is not None}


KEY = tuple(item.name for item in fields(Finding))
"""Columns of a finding that distinguish it from others."""

ReasonIdentity = tuple[str, str, str]
"""Kind, code and subject of a reason."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What one detection has that another has not.

    Attributes:
        findings: finding → how many more of it there are; negative where there are fewer.
        ledger: outcome of the ledger identity → by how much it differs; equal ones left out.
        reasons: reasons that were not there before.
    """

    findings: Counter[Finding] = field(default_factory=Counter)
    ledger: Counter[str] = field(default_factory=Counter)
    reasons: frozenset[ReasonIdentity] = frozenset()

    def __add__(self, other: Difference) -> Difference:
        """Return both differences at once: counts add up, a reason is there or not."""
        return Difference(
            plus(self.findings, other.findings),
            plus(self.ledger, other.ledger),
            self.reasons | other.reasons,
        )

    def __sub__(self, other: Difference) -> Difference:
        """Return what is left of this difference when the other is taken from it."""
        return Difference(
            plus(self.findings, other.findings, -1),
            plus(self.ledger, other.ledger, -1),
            self.reasons ^ other.reasons,
        )

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.findings or self.ledger or self.reasons)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as the scorecard holds them, equal ones left out."""
        anomalies: Counter[str] = Counter()
        for item, count in self.findings.items():
            anomalies[item.anomaly] += count
        return {
            "anomalies": {name: count for name, count in sorted(anomalies.items()) if count},
            "ledger": dict(sorted(self.ledger.items())),
            "inconclusiveReasons": [
                {"kind": kind, "code": code, "subject": subject}
                for kind, code, subject in sorted(self.reasons)
            ],
        }


def plus(left: Mapping[T, int], right: Mapping[T, int], sign: int = 1) -> Counter[T]:
    """Return the sum of two counts, zeros left out."""
    total = Counter(dict(left))
    for item, count in right.items():
        total[item] += sign * count
    return Counter({item: count for item, count in total.items() if count})


def identities(reasons: Iterable[Reason]) -> frozenset[ReasonIdentity]:
    """Return what distinguishes reasons; their messages hold counts and are for people."""
    return frozenset((reason.kind, reason.code, reason.subject) for reason in reasons)
