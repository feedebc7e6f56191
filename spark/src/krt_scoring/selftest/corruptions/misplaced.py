"""A record handed out from the place of another."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_scoring.selftest.corruption import Corruption, Kind, of_delivery, of_record, once
from krt_scoring.selftest.corruptions.deliveries import commits_above
from krt_scoring.selftest.difference import Difference, Finding, plus
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Baseline

ELSEWHERE = "delivery-from-elsewhere"

IDENTITY = ("producer", "producer_incarnation", "seq", "checksum_ok")


def _elsewhere(baseline: Baseline) -> Iterator[Corruption]:
    """Let a group get a record a second time, from the place of the next one."""
    for point, index in baseline.positions(ELSEWHERE):
        if index + 1 not in point.inner:
            continue
        record, other = point.records[index], point.records[index + 1]
        for group in sorted(set(record.got) & set(other.got)):
            commits = commits_above(baseline, other, group)
            if record.aborted or other.aborted or commits is None:
                continue
            row = other.got[group]
            moved = row | {name: record.got[group][name] for name in IDENTITY}
            topic, partition, offset = other.position
            whose = {name: moved[name] for name in IDENTITY[:3]}
            findings = once(
                of_delivery("misplaced-delivery", moved, **whose),
                Finding("inconsistent-offsets", topic=topic, partition=partition, offset=offset),
                of_record("unseen", other, grp=group, tag="acked"),
            )
            rows = [moved if each is row else each for each in other.deliveries]
            yield Corruption(
                ELSEWHERE,
                other.position,
                Patch(consume={other.position: rows}),
                Difference(plus(findings, commits), Counter(undelivered=1, delivered=-1)),
                # The lowest record a group was never handed decides which commits are ahead.
                frozenset({record.position, record.sent, ("missing", group, topic, partition)}),
            )


KINDS = (
    Kind(
        ELSEWHERE,
        ("misplaced-delivery", "unseen"),
        "two neighbours that one member got in order",
        _elsewhere,
    ),
)
