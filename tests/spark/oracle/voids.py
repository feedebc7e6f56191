"""What is void: findings that rest on evidence that is missing.

docs/concepts/scoring.md, "What makes a run Inconclusive": the tables there; of a polled cluster
docs/reference/cluster-history.md, "What polling can prove".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.spark.oracle.elections import elections, undecided
from tests.spark.oracle.history import identity_of, place_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from tests.spark.oracle.history import Finding, History

PRODUCE = "produce"
LOG = "log"

JUDGED_BY: dict[str, tuple[str, ...]] = {
    "lost-write": (PRODUCE, LOG),
    "vanished-read": (LOG,),
    "misplaced-delivery": (LOG,),
    "unseen": (PRODUCE, LOG),
    "duplicate-write": (PRODUCE, LOG),
    "nonmonotonic-send": (PRODUCE, LOG),
    "int-nonmonotonic-send": (PRODUCE, LOG),
    "inconsistent-offsets": (PRODUCE, LOG),
    "aborted-read": (PRODUCE, LOG),
    "precommitted-read": (PRODUCE,),
    "corrupt-payload": (PRODUCE,),
    "accepted-below-min-isr": (PRODUCE,),
    "replica-divergence": ("log_end_offsets",),
}
"""Anomaly → the tables it is judged by, as far as a case can lack them."""


BY_ELECTION = frozenset(
    {
        "lost-write", "vanished-read", "misplaced-delivery", "unseen", "inconsistent-offsets",
        "duplicate-delivery", "poll-skip", "int-poll-skip", "nonmonotonic-poll",
        "int-nonmonotonic-poll", "commit-ahead", "commit-rewind", "key-order",
    }
)  # fmt: skip
"""What an election may permit."""


@dataclass
class Missing:
    """A part of the evidence that is missing."""

    tables: tuple[str, ...]
    partitions: set[int] | None = None
    incarnations: set[str] | None = None
    besides: str | None = None
    """An anomaly that does not rest on it."""


def reasons(history: History) -> list[Missing]:
    """Return what the evidence lacks."""
    found = [Missing((PRODUCE,), incarnations={one}) for one in unbalanced(history)]
    sent = {row["producer_incarnation"] for row in history.sends}
    found += [
        Missing((PRODUCE,), incarnations={one}) for one in sent if one not in history.summaries
    ]
    unstable = {number for number, row in history.bounds.items() if not row["settled"]}
    found += [Missing((LOG,), partitions={number}) for number in unstable]
    # Of a log that was not read, deliveries tell what is lost.
    unread = {number for number in history.partitions if not history.read(number)}
    found += [Missing((LOG,), {number}, besides="lost-write") for number in unread]
    foreign = {row["partition"] for row in history.log if identity_of(row) is None}
    found += [Missing((LOG,), partitions={number}) for number in foreign]
    places = Counter((identity_of(row), *place_of(row)) for row in history.log)
    twice = {place[1] for place, rows in places.items() if rows > 1}
    found += [Missing((LOG,), partitions={number}) for number in twice]
    return found


def unbalanced(history: History) -> set[str]:
    """Return the incarnations whose summary says something else than their rows."""
    found: set[str] = set()
    for incarnation, summary in history.summaries.items():
        rows = [row for row in history.sends if row["producer_incarnation"] == incarnation]
        seqs = sorted(row["seq"] for row in rows)
        if seqs != list(range(summary["attempted"])):
            found.add(incarnation)
        counts = Counter(row["outcome"] for row in rows)
        if any(counts[name] != summary[name] for name in ("acked", "failed", "unknown")):
            found.add(incarnation)
    return found


def is_void(history: History, finding: Finding) -> bool:
    """Whether a finding rests on evidence that is missing."""
    tables = JUDGED_BY.get(finding.anomaly, ())
    for missing in reasons(history):
        if not set(tables) & set(missing.tables) or finding.anomaly == missing.besides:
            continue
        if within(finding.partition, missing.partitions) and within(
            finding.incarnation, missing.incarnations
        ):
            return True
    return undecided_by_polling(history, finding)


def undecided_by_polling(history: History, finding: Finding) -> bool:
    """Whether a polled election may permit a finding, and nobody can tell."""
    if finding.anomaly not in BY_ELECTION:
        return False
    partitions = {
        number
        for number in history.partitions
        if any(undecided(history, election) for election in elections(history, number))
    }
    if partitions and within(finding.partition, partitions):
        return True
    group = next((item for item in history.groups if item.name == finding.group), None)
    if group is None:
        return False
    if finding.anomaly == "unseen" and group.transactional:
        return any(history.case.topic_of(number) == group.output for number in partitions)
    if finding.anomaly not in ("commit-rewind", "duplicate-delivery"):
        return False
    subject = f"__consumer_offsets-{history.case.offsets_partition(group.name)}"
    return any(
        undecided(history, election, subject) for election in elections(history, -1, subject)
    )


def within(named: object, missing: AbstractSet[object] | None) -> bool:
    """Whether what a finding names may be part of what is missing."""
    return missing is None or named is None or named in missing
