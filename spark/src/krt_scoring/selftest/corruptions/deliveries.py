"""Deliveries that did not come: dropped from a ledger, or handed out and failed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_contract.outcomes import DeliveryOutcome
from krt_scoring.selftest.corruption import (
    Corruption,
    Kind,
    of_delivery,
    of_record,
    once,
    reading,
)
from krt_scoring.selftest.difference import Difference, Finding, plus
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Baseline, MutationPoint, Record

DROPPED, DROPPED_LAST = "dropped-delivery", "dropped-last-delivery"
FAILED, FAILED_IN_POLL = "failed-delivery", "failed-delivery-in-poll"


def commits_above(baseline: Baseline, record: Record, group: str) -> Counter[Finding] | None:
    """Return the group's commits above a record it was never handed, None if not all are known."""
    topic, partition, offset = record.position
    spot = group, topic, partition
    commits = baseline.commits.get(spot, ())
    above = [row for row in commits if row["offset"] > offset]
    if (
        not baseline.drained(group, record)
        or spot in baseline.troubled
        or (spot in baseline.commits_cut and len(above) == len(commits))
    ):
        return None
    return once(*[of_delivery("commit-ahead", row) for row in above])


def _drop(
    baseline: Baseline, name: str, point: MutationPoint, record: Record, group: str
) -> Corruption | None:
    findings = commits_above(baseline, record, group)
    if findings is None:
        return None
    row = record.got[group]
    left = [other for other in record.deliveries if other is not row]
    after = [other for other in point.read(group) if other is not row]
    findings = plus(findings, reading(baseline, point, group, after))
    findings = plus(findings, once(of_record("unseen", record, grp=group, tag="acked")))
    ledger = Counter(undelivered=1, delivered=-1, deliveries=-1)
    topic, partition, _ = record.position
    return Corruption(
        name,
        record.position,
        Patch(consume={record.position: left}),
        Difference(findings, ledger),
        # The lowest record a group was never handed decides which commits are ahead.
        frozenset({("missing", group, topic, partition)}),
    )


def _dropped(baseline: Baseline) -> Iterator[Corruption]:
    """Drop one delivery between others."""
    for point, index in baseline.positions(DROPPED):
        record = point.records[index]
        for group in sorted(record.got):
            if not record.aborted and point.around(group, record.offset, record.offset):
                corruption = _drop(baseline, DROPPED, point, record, group)
                if corruption is not None:
                    yield corruption


def _dropped_last(baseline: Baseline) -> Iterator[Corruption]:
    """Drop the last delivery of a partition: nothing after it shows that it is not there."""
    chance = baseline.chance(DROPPED_LAST)
    for point in chance.sample(baseline.points, len(baseline.points)):
        groups = sorted({group for record in point.records for group in record.got})
        for group in groups if point.last else ():
            record = [record for record in point.records if group in record.got][-1]
            if not record.aborted:
                corruption = _drop(baseline, DROPPED_LAST, point, record, group)
                # A group that committed nothing beyond it only shows half of what is tested.
                if corruption is not None and any(
                    item.anomaly == "commit-ahead" for item in corruption.expected.findings
                ):
                    yield corruption


def _failing(baseline: Baseline, name: str, *, inside: bool) -> Iterator[Corruption]:
    for point, index in baseline.positions(name):
        record = point.records[index]
        for group in sorted(record.got):
            rows = point.read(group)
            at = rows.index(record.got[group])
            if record.aborted or not 0 < at < len(rows) - 1:
                continue
            # What is handed out in a transaction that fails was never handed out.
            transactional = "Transactional" in baseline.group(group).commits
            if transactional or not baseline.drained(group, record):
                continue
            before, row, later = rows[at - 1 : at + 2]
            poll = before["poll"] if inside else before["poll"] + 1
            failed = row | {"outcome": DeliveryOutcome.FAILED.value, "processed_at": None}
            moved = later | {"poll": poll}
            after = [*rows[:at], failed, moved, *rows[at + 2 :]]
            findings = plus(
                reading(baseline, point, group, after),
                once(of_record("unseen", record, grp=group, tag="acked")),
            )
            follower = next(item for item in point.records if item.got.get(group) is later)
            consume = {
                record.position: [failed if other is row else other for other in record.deliveries],
                follower.position: [
                    moved if other is later else other for other in follower.deliveries
                ],
            }
            ledger = Counter(undelivered=1, delivered=-1)
            yield Corruption(
                name, record.position, Patch(consume=consume), Difference(findings, ledger)
            )


def _failed(baseline: Baseline) -> Iterator[Corruption]:
    """Let a delivery fail between two polls: it was handed out, so no commit is ahead of it."""
    return _failing(baseline, FAILED, inside=False)


def _failed_in_poll(baseline: Baseline) -> Iterator[Corruption]:
    """The same with its neighbours in one poll."""
    return _failing(baseline, FAILED_IN_POLL, inside=True)


NEEDS = "a delivery between two others that one member got in order"
KINDS = (
    Kind(DROPPED, ("unseen", "poll-skip", "commit-ahead"), NEEDS, _dropped),
    Kind(
        DROPPED_LAST,
        ("unseen", "commit-ahead"),
        "the last record of a partition, delivered and committed",
        _dropped_last,
    ),
    Kind(FAILED, ("unseen", "poll-skip"), NEEDS, _failed),
    Kind(FAILED_IN_POLL, ("unseen", "int-poll-skip"), NEEDS, _failed_in_poll),
)
