"""What the consumers did, apart from the records: their steps, and what they owned.

Nothing in it needs the records, so it is made beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krt_scoring.derive import hops, ownership

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from krt_scoring.derive.facts import Facts
    from krt_scoring.derive.ownership import Interval, Member
    from krt_scoring.history import History


@dataclass(frozen=True, slots=True)
class Reading:
    """What the consumers of one history did.

    Attributes:
        steps: those that are not to the next offset (``derive.hops``), cached.
        back: where steps lead to no higher offset, and from which place to which (``hops.back``).
        skips: the steps over records (``hops.skips``), cached.
        skipped: where steps lead over records, and how many.
        owned, members: ownerships of partitions, and who was in the groups.
    """

    steps: DataFrame
    back: dict[hops.Lane, tuple[int, int]]
    skips: DataFrame
    skipped: dict[hops.Lane, int]
    owned: tuple[Interval, ...]
    members: tuple[Member, ...]

    def release(self) -> None:
        """Give back what was cached."""
        self.steps.unpersist()
        self.skips.unpersist()


def build(history: History, facts: Facts) -> Reading:
    """Read what consumers left behind; of the facts none that the records tell."""
    steps = hops.build(history, facts).persist()
    skips = hops.skips(steps, history, facts).persist()
    owned, members = ownership.collect(history, facts)
    return Reading(
        steps=steps,
        back=hops.back(steps),
        skips=skips,
        skipped=hops.lanes(skips),
        owned=owned,
        members=members,
    )
