"""How the consumers read: their steps from record to record, apart from the records themselves.

None of it needs the records, so it is built while the records are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.engine.caching import cache
from krt_scoring.history import offset_jumps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.engine.caching import Cached
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.tables import Tables


@dataclass(frozen=True, slots=True)
class Reading:
    """How the consumers of one run read.

    Attributes:
        steps: those that are not to the next offset (``offset_jumps.build``).
        back: where steps lead to no higher offset, and the range of positions they lead over
            (``offset_jumps.Directions``).
        skips: the steps over records (``offset_jumps.skips``).
        skipped: where steps lead over records, and how many.
        starts: where deliveries begin after an assignment, a seek or a reset.
        cached: steps and skips.
    """

    steps: DataFrame
    back: dict[offset_jumps.Lane, tuple[int, int]]
    skips: DataFrame
    skipped: dict[offset_jumps.Lane, int]
    starts: tuple[offset_jumps.Begin, ...]
    cached: tuple[Cached, ...]

    def release(self) -> None:
        """Release the cached rows."""
        for item in self.cached:
            item.release()


def build(tables: Tables, facts: Facts) -> Reading:
    """Build the steps; of the facts those that do not depend on the records."""
    built = cache(offset_jumps.build(tables, facts))
    steps = built.rows.filter(offset_jumps.is_step())
    directions = offset_jumps.directions(steps)
    cached, skips = [built], offset_jumps.skips(steps, tables, facts, directions.forward)
    if directions.forward:
        cached.append(cache(skips))
        skips = cached[-1].rows
    return Reading(
        steps=steps,
        back=directions.back,
        skips=skips,
        skipped=offset_jumps.count_by_lane(skips) if directions.forward else {},
        starts=offset_jumps.starts(built.rows),
        cached=tuple(cached),
    )
