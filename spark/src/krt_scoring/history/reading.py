"""What the consumers did, apart from the records: their steps, and what they owned.

Nothing in it needs the records, so it is made beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.engine.caching import hold
from krt_scoring.history import offset_jumps, ownership

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.engine.caching import Held
    from krt_scoring.history.facts import Facts
    from krt_scoring.history.ownership import Interval, Member
    from krt_scoring.history.tables import History


@dataclass(frozen=True, slots=True)
class Reading:
    """What the consumers of one history did.

    Attributes:
        steps: those that are not to the next offset (``derive.hops``).
        back: where steps lead to no higher offset, and from which place to which (``hops.back``).
        skips: the steps over records (``hops.skips``).
        skipped: where steps lead over records, and how many.
        held: steps and skips, cached.
        owned, members: ownerships of partitions, and who was in the groups.
    """

    steps: DataFrame
    back: dict[offset_jumps.Lane, tuple[int, int]]
    skips: DataFrame
    skipped: dict[offset_jumps.Lane, int]
    held: tuple[Held, ...]
    owned: tuple[Interval, ...]
    members: tuple[Member, ...]

    def release(self) -> None:
        """Give back what was cached."""
        for one in self.held:
            one.release()


def build(history: History, facts: Facts) -> Reading:
    """Read what consumers left behind; of the facts none that the records tell."""
    every = hold(offset_jumps.build(history, facts))
    over = hold(offset_jumps.skips(every.rows, history, facts))
    owned, members = ownership.collect(history, facts)
    return Reading(
        steps=every.rows,
        back=offset_jumps.back(every.rows),
        skips=over.rows,
        skipped=offset_jumps.lanes(over.rows),
        held=(every, over),
        owned=owned,
        members=members,
    )
