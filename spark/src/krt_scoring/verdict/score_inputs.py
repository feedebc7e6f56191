"""Which anomalies count towards which component of the score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krt_scoring.verdict.score import ScoreInputs

if TYPE_CHECKING:
    from krt_scoring.anomalies.results import Detection
    from krt_scoring.verdict.objectives import Objective
    from krt_scoring.verdict.verdict import Decision

LOSS = ("lost-write", "vanished-read", "replica-divergence")
ORDER = (
    "nonmonotonic-send",
    "int-nonmonotonic-send",
    "nonmonotonic-poll",
    "int-nonmonotonic-poll",
    "key-order",
    "inconsistent-offsets",
)
DELIVERY = (
    "unseen",
    "duplicate-write",
    "duplicate-delivery",
    "misplaced-delivery",
    "aborted-read",
    "poll-skip",
    "int-poll-skip",
    "precommitted-read",
    "commit-ahead",
    "commit-rewind",
    "double-ownership",
    "corrupt-payload",
)


def score_inputs(detection: Detection, decision: Decision) -> ScoreInputs:
    """Return the score's inputs: what was detected, and which violations stand."""
    permitted = {item.name: item.permitted for item in detection.anomalies}
    ledger = detection.ledger
    by_name = {item.name: item for item in decision.objectives}
    gaps = [by_name.get("maxWriteUnavailability"), by_name.get("maxReadUnavailability")]
    lost = by_name.get("lostRecords")
    return ScoreInputs(
        acked=ledger.get("acked", 0),
        # A record that is lost after its delivery is found by two rules but counts once.
        lost_permitted=max(permitted.get(name, 0) for name in LOSS),
        lost_violations=sum(decision.standing.get(name, 0) for name in LOSS),
        lost_limit=lost.limit if lost else 0,
        order_permitted=sum(permitted.get(name, 0) for name in ORDER),
        order_violations=sum(decision.standing.get(name, 0) for name in ORDER),
        delivery_permitted=sum(permitted.get(name, 0) for name in DELIVERY),
        delivery_violations=sum(decision.standing.get(name, 0) for name in DELIVERY),
        delivered_late=ledger.get("deliveredLate", 0),
        undelivered=ledger.get("undelivered", 0),
        deliveries=ledger.get("deliveries", 0),
        unavailability=tuple((item.worst, item.limit) for item in gaps if item is not None),
        recovery=_recovery(by_name.get("maxRecovery")),
        violated_kinds=len(decision.standing),
    )


def _recovery(item: Objective | None) -> tuple[int, int] | None:
    return None if item is None or item.value is None else (_value(item), item.limit)


def _value(item: Objective) -> int:
    value = item.value or 0
    # A lower bound within the limit is a miss all the same.
    return value if item.ended else max(value, item.limit + 1)
