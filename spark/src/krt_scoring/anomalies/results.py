"""What the rules found in a history: a result for each anomaly, and all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krt_scoring.inputs.reasons import Reason

Class = Literal["Violation", "AllowedByConfig", "NotObserved"]

MAX_EXAMPLES = 32
"""Examples an anomaly shows (correctness rules): what a person reads, and 16 KiB of scorecard."""


@dataclass(frozen=True, slots=True)
class AnomalyResult:
    """What was found of one anomaly.

    Attributes:
        name: its name, as the registry has it.
        unit: what ``count`` counts.
        count: findings, permitted or not.
        permitted: findings the configuration permits.
        violations: ``count - permitted``.
        cls: Violation where ``violations`` is not 0, else AllowedByConfig where ``count`` is
            not 0, else NotObserved.
        rules: rule → findings it permits.
        detail: tag → findings that carry it, and further integers.
        examples: at most ``MAX_EXAMPLES``, in order of (partition, offset, seq), each with the
            finding's columns and its mini-history.
        void: violations that rest on missing evidence, and decide nothing.
    """

    name: str
    unit: str
    count: int
    permitted: int
    violations: int
    cls: Class
    rules: dict[str, int]
    detail: dict[str, int]
    examples: tuple[dict[str, Any], ...]
    void: int = 0


@dataclass(frozen=True, slots=True)
class Detection:
    """What the rules detected in a history.

    Attributes:
        ledger: outcome of the ledger identity → records; ``balanced`` is 1 or 0.
        anomalies: one result for every anomaly of the registry, in its order.
        reasons: why the evidence of the rules is incomplete or damaged
            (LedgerDoesNotBalance, ForeignRecords, GroupNeverStarted, DuplicateLogRows).
        truncations: per cut of a partition's log that the timeline explains:
            ``{"topic", "partition", "at", "epoch", "leader", "firstOffsetCut", "unclean"}``.
        producers: per producer of the plan ``producer``, ``topic``, ``acks`` and the terms of its
            own ledger.
    """

    ledger: dict[str, int]
    anomalies: tuple[AnomalyResult, ...]
    reasons: tuple[Reason, ...]
    truncations: tuple[dict[str, int | str], ...]
    producers: tuple[dict[str, Any], ...] = ()

    @property
    def violations(self) -> dict[str, int]:
        """Anomaly → findings that the configuration does not permit."""
        return {item.name: item.violations for item in self.anomalies}

    @property
    def void(self) -> dict[str, int]:
        """Anomaly → those of its violations that rest on missing evidence."""
        return {item.name: item.void for item in self.anomalies}

    def anomaly(self, name: str) -> AnomalyResult:
        """Return the result of one anomaly.

        Raises:
            KeyError: no such anomaly.
        """
        for result in self.anomalies:
            if result.name == name:
                return result
        raise KeyError(name)


def summarize(
    name: str,
    unit: str,
    rules: Mapping[str | None, int],
    detail: Mapping[str, int],
    examples: tuple[dict[str, Any], ...],
) -> AnomalyResult:
    """Return the result of one anomaly from its findings, counted.

    Args:
        name: the anomaly.
        unit: what its count counts.
        rules: rule of the configuration → findings that it permits; None → findings that no rule
            permits.
        detail: tag → findings that carry it.
        examples: the findings to show.
    """
    violations = rules.get(None, 0)
    permitted = {rule: rules[rule] for rule in sorted(filter(None, rules))}
    total = violations + sum(permitted.values())
    cls: Class = "Violation" if violations else "AllowedByConfig" if total else "NotObserved"
    return AnomalyResult(
        name=name,
        unit=unit,
        count=total,
        permitted=total - violations,
        violations=violations,
        cls=cls,
        rules=permitted,
        detail=dict(sorted(detail.items())),
        examples=examples,
    )
