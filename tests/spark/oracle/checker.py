"""The reference checker: what a case contains by the written rules, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.spark.oracle import commits, ledger, losses, polls, records, writes
from tests.spark.oracle.history import Finding, History
from tests.spark.oracle.unreadable import prepare
from tests.spark.oracle.voids import is_void

if TYPE_CHECKING:
    from tests.spark.anomalies.language import Case

RULES = (
    losses.lost_write,
    losses.vanished_read,
    losses.misplaced_delivery,
    records.duplicate_write,
    records.aborted_read,
    records.corrupt_payload,
    records.inconsistent_offsets,
    writes.nonmonotonic_send,
    writes.precommitted_read,
    writes.accepted_below_min_isr,
    writes.replica_divergence,
)
OF_GROUPS = (polls.unseen, commits.unexpected_rebalance)
OF_PARTITIONS = (
    polls.poll_order,
    polls.duplicate_delivery,
    polls.key_order,
    commits.commit_ahead,
    commits.commit_rewind,
    commits.double_ownership,
)


@dataclass
class Judgement:
    """What a checker says of a case: all that two checkers must agree on."""

    findings: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    void: Counter[str] = field(default_factory=Counter)
    outcomes: dict[str, int] = field(default_factory=dict)


def find(history: History) -> list[Finding]:
    """Return every anomaly of a history."""
    found = [finding for rule in RULES for finding in rule(history)]
    for group in history.groups:
        found += [finding for of_group in OF_GROUPS for finding in of_group(history, group)]
        for partition in history.partitions:
            found += [
                finding
                for of_partition in OF_PARTITIONS
                for finding in of_partition(history, group, partition)
            ]
    return found


def judge(case: Case) -> Judgement:
    """Judge a case by the written rules."""
    history = prepare(History(case))
    found = find(history)
    void = Counter(
        finding.anomaly for finding in found if finding.rule is None and is_void(history, finding)
    )
    return Judgement(
        Counter((finding.anomaly, finding.rule) for finding in found),
        void,
        ledger.outcomes(history),
    )
