"""double-ownership: two members both hand out or commit a partition for too long.

Too long is later than max(session timeout, 2 heartbeats) after the newer one was assigned.
"""

from __future__ import annotations

from itertools import combinations, groupby
from typing import TYPE_CHECKING, Any

from krt_scoring.anomalies import from_driver
from krt_scoring.expectations.groups import handover

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.derive.base import Base
    from krt_scoring.derive.ownership import Interval

NAME = "double-ownership"


def overlaps(base: Base) -> list[tuple[Interval, Interval, int]]:
    """Return (older, newer, deadline) of ownerships that nothing says ended in time."""
    frozen = _frozen(base)
    found = []
    for (group, _), owners in groupby(base.owned, key=lambda item: (item.group, item.tp)):
        allowed = handover(base.facts.run, base.facts.groups[group])
        for older, newer in combinations(owners, 2):
            # A frozen member stops being an owner when its session has run out.
            sessions = [at + allowed for at in frozen.get(older.incarnation, ())]
            deadline = newer.begin + allowed
            if older.incarnation != newer.incarnation and min([older.end, *sessions]) > deadline:
                found.append((older, newer, deadline))
    return found


def find(base: Base) -> DataFrame:
    """Return one finding a pair of ownerships."""
    rows: list[dict[str, Any]] = []
    for older, newer, deadline in overlaps(base):
        last = base.activity.get(older.number, 0), base.activity.get(newer.number, 0)
        if min(last) > deadline:
            rows.append(
                from_driver.of_interval(base, NAME, newer)
                | {"detail": {"otherIncarnation": older.incarnation, "until": min(last)}}
            )
    return from_driver.findings(base, rows)


def _frozen(base: Base) -> dict[str, list[int]]:
    """Return pod uid → when it was frozen."""
    found: dict[str, list[int]] = {}
    for event in base.history.timeline:
        if event.source == "member" and event.event == "frozen":
            found.setdefault(str(event.detail.get("uid", "")), []).append(event.at)
    return found
