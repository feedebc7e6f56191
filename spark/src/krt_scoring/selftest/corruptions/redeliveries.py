"""A record handed out a second time by the member that had it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from krt_scoring.selftest.corruption import (
    Corruption,
    Kind,
    of_delivery,
    once,
    reading,
)
from krt_scoring.selftest.difference import Difference, plus
from krt_scoring.selftest.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_scoring.selftest.baseline import Baseline

NEXT, INSIDE = "redelivered-by-next-poll", "redelivered-in-poll"


def _again(baseline: Baseline, name: str, *, inside: bool) -> Iterator[Corruption]:
    for point, index in baseline.positions(name):
        record = point.records[index]
        for group in sorted(record.got):
            row = record.got[group]
            poll = row["poll"] if inside else row["poll"] + 1
            again = row | {
                "event_seq": row["event_seq"] + 1,
                "poll": poll,
                "poll_index": row["poll_index"] + 1,
            }
            identity = {key: row[key] for key in ("producer", "producer_incarnation", "seq")}
            findings = plus(
                reading(baseline, point, group, [*point.read(group), again]),
                once(of_delivery("duplicate-delivery", again, tag="outsideWindow", **identity)),
            )
            yield Corruption(
                name,
                record.position,
                Patch(consume={record.position: [*record.deliveries, again]}),
                Difference(findings, Counter(deliveries=1)),
            )


def _next(baseline: Baseline) -> Iterator[Corruption]:
    """Hand a record out again by the next poll."""
    return _again(baseline, NEXT, inside=False)


def _inside(baseline: Baseline) -> Iterator[Corruption]:
    """Hand a record out again inside its poll."""
    return _again(baseline, INSIDE, inside=True)


NEEDS = "a delivery in order"
KINDS = (
    Kind(NEXT, ("duplicate-delivery", "nonmonotonic-poll"), NEEDS, _next),
    Kind(INSIDE, ("duplicate-delivery", "int-nonmonotonic-poll"), NEEDS, _inside),
)
