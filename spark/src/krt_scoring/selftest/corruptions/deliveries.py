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

    from krt_scoring.selftest.baseline import Ground, Record, Site

DROPPED, DROPPED_LAST = "dropped-delivery", "dropped-last-delivery"
FAILED, FAILED_IN_POLL = "failed-delivery", "failed-delivery-in-poll"


def _commits(ground: Ground, record: Record, group: str) -> Counter[Finding] | None:
    """The group's commits above a record it was never handed; None where not all are known."""
    topic, partition, offset = record.place
    spot = group, topic, partition
    commits = ground.commits.get(spot, ())
    above = [row for row in commits if row["offset"] > offset]
    if (
        not ground.drained(group, record)
        or spot in ground.troubled
        or (spot in ground.commits_cut and len(above) == len(commits))
    ):
        return None
    return once(*[of_delivery("commit-ahead", row) for row in above])


def _drop(ground: Ground, name: str, site: Site, record: Record, group: str) -> Corruption | None:
    found = _commits(ground, record, group)
    if found is None:
        return None
    row = record.got[group]
    left = [other for other in record.deliveries if other is not row]
    after = [other for other in site.read(group) if other is not row]
    found = plus(found, reading(ground, site, group, after))
    found = plus(found, once(of_record("unseen", record, grp=group, tag="acked")))
    ledger = Counter(undelivered=1, delivered=-1, deliveries=-1)
    topic, partition, _ = record.place
    return Corruption(
        name,
        record.place,
        Patch(consume={record.place: left}),
        Difference(found, ledger),
        # The lowest record a group was never handed decides which commits are ahead.
        frozenset({("missing", group, topic, partition)}),
    )


def _dropped(ground: Ground) -> Iterator[Corruption]:
    """Drop one delivery between others."""
    for site, index in ground.places(DROPPED):
        record = site.records[index]
        for group in sorted(record.got):
            if not record.aborted and site.around(group, record.offset, record.offset):
                found = _drop(ground, DROPPED, site, record, group)
                if found is not None:
                    yield found


def _dropped_last(ground: Ground) -> Iterator[Corruption]:
    """Drop the last delivery of a partition: nothing after it shows that it is not there."""
    chance = ground.chance(DROPPED_LAST)
    for site in chance.sample(ground.sites, len(ground.sites)):
        groups = sorted({group for record in site.records for group in record.got})
        for group in groups if site.last else ():
            record = [record for record in site.records if group in record.got][-1]
            if not record.aborted:
                found = _drop(ground, DROPPED_LAST, site, record, group)
                # A group that committed nothing beyond it only shows half of what is tested.
                if found is not None and any(
                    item.anomaly == "commit-ahead" for item in found.expected.findings
                ):
                    yield found


def _failing(ground: Ground, name: str, *, inside: bool) -> Iterator[Corruption]:
    for site, index in ground.places(name):
        record = site.records[index]
        for group in sorted(record.got):
            rows = site.read(group)
            at = rows.index(record.got[group])
            if record.aborted or not 0 < at < len(rows) - 1:
                continue
            # What is handed out in a transaction that fails was never handed out.
            transactional = "Transactional" in ground.group(group).commits
            if transactional or not ground.drained(group, record):
                continue
            before, row, later = rows[at - 1 : at + 2]
            poll = before["poll"] if inside else before["poll"] + 1
            failed = row | {"outcome": DeliveryOutcome.FAILED.value, "processed_at": None}
            moved = later | {"poll": poll}
            after = [*rows[:at], failed, moved, *rows[at + 2 :]]
            found = plus(
                reading(ground, site, group, after),
                once(of_record("unseen", record, grp=group, tag="acked")),
            )
            follower = next(item for item in site.records if item.got.get(group) is later)
            consume = {
                record.place: [failed if other is row else other for other in record.deliveries],
                follower.place: [
                    moved if other is later else other for other in follower.deliveries
                ],
            }
            ledger = Counter(undelivered=1, delivered=-1)
            yield Corruption(name, record.place, Patch(consume=consume), Difference(found, ledger))


def _failed(ground: Ground) -> Iterator[Corruption]:
    """Let a delivery fail between two polls: it was handed out, so no commit is ahead of it."""
    return _failing(ground, FAILED, inside=False)


def _failed_in_poll(ground: Ground) -> Iterator[Corruption]:
    """The same with its neighbours in one poll."""
    return _failing(ground, FAILED_IN_POLL, inside=True)


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
