"""Every anomaly that is looked for: its rule, its unit, and when the rule can find anything.

A new anomaly is a module of this package and an entry in ``RULES``
(docs/development/adding-an-anomaly.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_contract.metadata import Strength
from krt_scoring.anomalies import (
    aborted_read,
    accepted_below_min_isr,
    commit_ahead,
    commit_rewind,
    corrupt_payload,
    double_ownership,
    duplicate_delivery,
    duplicate_write,
    inconsistent_offsets,
    key_order,
    lost_write,
    misplaced_delivery,
    nonmonotonic_send,
    poll_order,
    precommitted_read,
    replica_divergence,
    unexpected_rebalance,
    unseen,
    vanished_read,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from krt_contract.plan import Plan
    from krt_scoring.anomalies.context import Context


@dataclass(frozen=True, slots=True)
class Rule:
    """How an anomaly is found; where two are found by one query, both of them.

    Attributes:
        units: anomaly → what its count counts.
        find: returns the findings.
        possible: whether the history leaves the rule anything to find. To plan and compile a
            query that cannot find anything costs more than to run it.
    """

    units: Mapping[str, str]
    find: Callable[[Context], DataFrame]
    possible: Callable[[Context], bool]


RULES: tuple[Rule, ...] = (
    Rule({lost_write.NAME: "records"}, lost_write.find, lost_write.possible),
    Rule({vanished_read.NAME: "records"}, vanished_read.find, vanished_read.possible),
    Rule({unseen.NAME: "(record, group)"}, unseen.find, unseen.possible),
    Rule({duplicate_write.NAME: "records"}, duplicate_write.find, duplicate_write.possible),
    Rule(
        {duplicate_delivery.NAME: "deliveries"},
        duplicate_delivery.find,
        duplicate_delivery.possible,
    ),
    Rule(
        {misplaced_delivery.NAME: "deliveries"},
        misplaced_delivery.find,
        misplaced_delivery.possible,
    ),
    Rule(
        {inconsistent_offsets.NAME: "offsets"},
        inconsistent_offsets.find,
        inconsistent_offsets.possible,
    ),
    Rule({aborted_read.NAME: "records"}, aborted_read.find, aborted_read.possible),
    Rule(
        {poll_order.SKIP: "jumps", poll_order.INSIDE_SKIP: "jumps"},
        poll_order.find_skips,
        poll_order.skips_possible,
    ),
    Rule(
        {poll_order.BACK: "jumps", poll_order.INSIDE_BACK: "jumps"},
        poll_order.find_back,
        poll_order.back_possible,
    ),
    Rule(
        {
            nonmonotonic_send.NAME: "adjacent inversions",
            nonmonotonic_send.INSIDE: "adjacent inversions",
        },
        nonmonotonic_send.find,
        nonmonotonic_send.possible,
    ),
    Rule({precommitted_read.NAME: "records"}, precommitted_read.find, precommitted_read.possible),
    Rule({commit_ahead.NAME: "commits"}, commit_ahead.find, commit_ahead.possible),
    Rule({commit_rewind.NAME: "commits"}, commit_rewind.find, commit_rewind.possible),
    Rule({double_ownership.NAME: "intervals"}, double_ownership.find, double_ownership.possible),
    Rule(
        {unexpected_rebalance.NAME: "rebalances"},
        unexpected_rebalance.find,
        unexpected_rebalance.possible,
    ),
    Rule({key_order.NAME: "adjacent inversions"}, key_order.find, key_order.possible),
    Rule({corrupt_payload.NAME: "records"}, corrupt_payload.find, corrupt_payload.possible),
    Rule(
        {accepted_below_min_isr.NAME: "records"},
        accepted_below_min_isr.find,
        accepted_below_min_isr.possible,
    ),
    Rule(
        {replica_divergence.NAME: "offsets"}, replica_divergence.find, replica_divergence.possible
    ),
)
"""Every rule, in the order of the documentation's table."""

UNITS: dict[str, str] = {name: unit for rule in RULES for name, unit in rule.units.items()}
"""Anomaly → what its count counts, in the same order."""


def unchecked(run: Plan) -> tuple[str, ...]:
    """Return the anomalies that a run does not look for.

    Without what each replica holds there is nothing to compare; and of a polled cluster it is not
    known that an ISR was too small all along.
    """
    observed = run.metadata.source.strength is Strength.OBSERVED
    return (
        *(() if run.compares_replicas else (replica_divergence.NAME,)),
        *((accepted_below_min_isr.NAME,) if observed else ()),
    )
