"""The score: five components, weighted and capped; from 0 to 100 with one decimal.

Integers throughout, in tenths of a point, so that it is the same at any parallelism.
``score = sum(weight * component) / 100``. What holds of it whatever the run (property tests):

- it never rises when a loss, a gap or a violation is added;
- loss that is not permitted: 0; any violation: below 50; permitted loss beyond the objective
  ``lostRecords``: at most 50;
- a run that Passed has at least 80, because every component is at least 80 while its limits hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FULL = 1000
"""A component without a finding, in tenths of a point."""

AT_LIMIT = 800
"""A component whose limit is reached exactly, in tenths; keeps a Passed run at 80 or above."""

PERMITTED_LOSS_CAP = 500
VIOLATION_CAP = 499
VIOLATION_STEP = 50
"""Each further kind of violation lowers the cap by this."""

WEIGHTS = {"durability": 40, "ordering": 15, "delivery": 20, "availability": 15, "recovery": 10}
"""Weight of each component, percent; they add up to 100."""


@dataclass(frozen=True, slots=True)
class ScoreInputs:
    """Everything the score depends on; counts of records unless said otherwise.

    Attributes:
        acked: acked records, the base of shares.
        lost_permitted: lost and permitted by the configuration.
        lost_violations: lost (or delivered and then gone) and not permitted.
        lost_limit: objective ``lostRecords``.
        order_permitted, order_violations: findings against order.
        delivery_permitted, delivery_violations: findings against delivery; duplicates, skips.
        delivered_late: acked records some group got only after the faults had reverted.
        undelivered: acked records some group never got.
        deliveries: all ok deliveries.
        unavailability: (longest gap or detection limit, whichever is longer; limit) in µs for each
            direction. A gap that could not be seen counts as one that was; None where gaps were not
            measured, which counts for nothing.
        recovery: (longest recovery, limit) in µs; None where no fault was to be recovered from.
        violated_kinds: number of anomalies with a violation.
    """

    acked: int = 0
    lost_permitted: int = 0
    lost_violations: int = 0
    lost_limit: int = 0
    order_permitted: int = 0
    order_violations: int = 0
    delivery_permitted: int = 0
    delivery_violations: int = 0
    delivered_late: int = 0
    undelivered: int = 0
    deliveries: int = 0
    unavailability: tuple[tuple[int | None, int], ...] = ()
    recovery: tuple[int, int] | None = None
    violated_kinds: int = 0


@dataclass(frozen=True, slots=True)
class Score:
    """The score and how it is composed.

    Attributes:
        tenths: the score in tenths of a point, 0 to 1000.
        components: name → ``weight`` (percent), ``score`` (0 to 100, one decimal), ``inputs``.
    """

    tenths: int
    components: dict[str, dict[str, Any]]

    @property
    def points(self) -> float:
        """The score from 0 to 100, with one decimal."""
        return self.tenths / 10


def compute(inputs: ScoreInputs) -> Score:
    """Return the score with each component and its inputs, so that it can be calculated by hand."""
    found = {
        "durability": _durability(inputs),
        "ordering": _findings(inputs.order_permitted, inputs.order_violations, inputs.acked),
        "delivery": _delivery(inputs),
        "availability": min(
            (
                _against_limit(value, limit)
                for value, limit in inputs.unavailability
                if value is not None
            ),
            default=FULL,
        ),
        "recovery": _against_limit(*inputs.recovery) if inputs.recovery else FULL,
    }
    raw = sum(WEIGHTS[name] * points for name, points in found.items()) // 100
    components = {
        name: {"weight": WEIGHTS[name], "score": points / 10, "inputs": _inputs(name, inputs)}
        for name, points in found.items()
    }
    return Score(min(raw, cap(inputs)), components)


def cap(inputs: ScoreInputs) -> int:
    """Return the most a run with these losses and violations can score, in tenths of a point."""
    if inputs.lost_violations:
        return 0
    limit = FULL
    if inputs.lost_permitted > inputs.lost_limit:
        limit = PERMITTED_LOSS_CAP * _share_left(inputs.lost_permitted, inputs.acked) // FULL
    if inputs.violated_kinds:
        violated = VIOLATION_CAP - VIOLATION_STEP * (inputs.violated_kinds - 1)
        limit = min(limit, max(0, violated))
    return limit


def _durability(inputs: ScoreInputs) -> int:
    if inputs.lost_violations:
        return 0
    lost = inputs.lost_permitted
    if lost <= inputs.lost_limit:
        return FULL - (FULL - AT_LIMIT) * lost // max(1, inputs.lost_limit)
    return PERMITTED_LOSS_CAP * _share_left(lost, inputs.acked) // FULL


def _delivery(inputs: ScoreInputs) -> int:
    base = max(inputs.deliveries, inputs.acked)
    spots = inputs.delivery_permitted + inputs.delivered_late + inputs.undelivered
    return _findings(spots, inputs.delivery_violations, base)


def _findings(permitted: int, violations: int, base: int) -> int:
    """At least AT_LIMIT without violations, falling with their share; below it with any."""
    base = max(1, base)
    if violations:
        return AT_LIMIT * base // (base + violations + permitted) * base // (base + violations)
    return FULL - (FULL - AT_LIMIT) * permitted // (base + permitted)


def _against_limit(value: int, limit: int) -> int:
    """FULL at 0, AT_LIMIT at the limit, towards 0 beyond it."""
    if value <= limit:
        return FULL - (FULL - AT_LIMIT) * value // max(1, limit)
    return AT_LIMIT * limit // value


def _share_left(lost: int, acked: int) -> int:
    return FULL * max(0, acked - lost) // acked if acked else 0


def _inputs(name: str, inputs: ScoreInputs) -> dict[str, int]:
    if name == "durability":
        return {
            "acked": inputs.acked,
            "lostPermitted": inputs.lost_permitted,
            "lostViolations": inputs.lost_violations,
            "lostLimit": inputs.lost_limit,
        }
    if name == "ordering":
        return {
            "acked": inputs.acked,
            "permitted": inputs.order_permitted,
            "violations": inputs.order_violations,
        }
    if name == "delivery":
        return {
            "deliveries": inputs.deliveries,
            "permitted": inputs.delivery_permitted,
            "violations": inputs.delivery_violations,
            "deliveredLate": inputs.delivered_late,
            "undelivered": inputs.undelivered,
        }
    if name == "availability":
        return {
            f"{key}{index}": number
            for index, pair in enumerate(inputs.unavailability)
            for key, number in zip(("value", "limit"), pair, strict=True)
            if number is not None
        }
    if inputs.recovery is None:
        return {}
    return {"value": inputs.recovery[0], "limit": inputs.recovery[1]}
