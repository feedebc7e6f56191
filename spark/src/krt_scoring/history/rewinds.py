"""Rewinds: the ranges of positions that the deliveries of a group went back over.

Deliveries of a partition go forward, in the order of ownerships and of a member's own events, but
where an ownership begins below what an earlier one had reached, where a member steps back, and
where it was moved. Two deliveries that are not in order both lie in a range that was gone back
over, and so does the one next before the later of them: what lies outside all ranges can be left
out, without changing which deliveries of a key follow each other the wrong way.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.history.facts import MOVING
from krt_scoring.history.intervals import owned_by, with_lane

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krt_scoring.history.extents import Extent
    from krt_scoring.history.history import History

Span = tuple[int, int, int, int]
"""Group index, topic-partition id, lowest and highest position of a range."""


def spans(history: History) -> list[Span]:
    """Return the ranges that groups went back over; as many as there are ownerships, at most."""
    moved = (
        _moved(history) if any(start.moved for start in history.facts.starts.values()) else set()
    )
    steps = ((*lane, *positions) for lane, positions in history.reading.back.items())
    return sorted(
        {*between(history.ownership.extents), *within(history.ownership.extents, moved), *steps}
    )


def between(extents: Iterable[Extent]) -> Iterator[Span]:
    """Yield from where to where an ownership went back behind an earlier one of its lane.

    Args:
        extents: in their order.
    """
    for (group, tp), lane in groupby(extents, lambda item: (item.group, item.tp)):
        reached = -1
        for item in lane:
            if item.low is None or item.high is None:
                continue
            if item.low < reached:
                yield group, tp, item.low, reached
            reached = max(reached, item.high)


def within(extents: Iterable[Extent], moved: set[int]) -> Iterator[Span]:
    """Yield the whole of each ownership in which deliveries need not go forward.

    Args:
        extents: what was done in each ownership.
        moved: numbers of those in which a member was moved.
    """
    for item in extents:
        # Outside any ownership several members may have read at the same time.
        if item.interval is not None and item.interval not in moved:
            continue
        if item.low is not None and item.high is not None:
            yield item.group, item.tp, item.low, item.high


def _moved(history: History) -> set[int]:
    events = history.tables.consumer_events.filter(sf.col("event").isin(*MOVING))
    rows = with_lane(events, history.facts).select("group_index", "tp", "incarnation", "event_seq")
    owned = owned_by(rows, history.ownership.table).select("interval").distinct()
    return {row["interval"] for row in owned.collect() if row["interval"] is not None}
