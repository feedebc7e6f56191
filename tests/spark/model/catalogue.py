"""The defects that are played, each on seeds in which it finds an occasion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tests.spark.model import broken_broker as broker
from tests.spark.model import broken_client as client
from tests.spark.model.scenario import draw
from tests.spark.model.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.spark.model.defect import Defect

SEEDS = range(50)
"""Histories without a defect."""


def aborted_shown_committed() -> Defect:
    """An aborted transaction's markers say committed."""
    return broker.FlipsMarkers("aborted", everywhere=True)


def committed_shown_aborted() -> Defect:
    """A committed transaction's markers say aborted."""
    return broker.FlipsMarkers("committed", everywhere=True)


def partly_committed() -> Defect:
    """A committed transaction's first marker says aborted."""
    return broker.FlipsMarkers("committed", everywhere=False)


TABLE: tuple[tuple[Callable[[], Defect], tuple[int, ...]], ...] = (
    (broker.LosesAckedRecord, (6, 7, 13)),
    (broker.AppendsRetryAgain, (19, 25, 37)),
    (broker.AppendsTwice, (1, 2, 12)),
    (broker.CorruptsLog, (0, 7, 8)),
    (broker.AcksElsewhere, (2, 7)),
    (broker.AcceptsBelowMinimum, (3,)),
    (broker.ElectsOutsideIsr, (33, 39)),
    (broker.AcksBeforeReplicas, (19, 37)),
    (broker.KeepsWhatTheLeaderLacks, (0, 22, 37)),
    (broker.Misroutes, (24,)),
    (aborted_shown_committed, (8, 26)),
    (committed_shown_aborted, (2, 38)),
    (partly_committed, (20, 44)),
    (client.SendsRefused, (6, 12)),
    (client.SwapsSends, (6, 12)),
    (client.Garbles, (12, 14)),
    (client.ShowsAborted, (2, 26)),
    (client.SkipsRecord, (0, 31)),
    (client.SkipsInside, (13, 14)),
    (client.HandsTwice, (7, 12, 32)),
    (client.HandsBackwards, (5, 36)),
    (client.CommitsAhead, (30,)),
    (client.LosesCommit, (30, 48)),
    (client.Rewinds, (1, 36)),
    (client.ForgetsMember, (2, 19)),
)
"""(defect, seeds)."""


@dataclass
class Flawed:
    """A history with one defect.

    Attributes:
        name: under which it is scored and told.
        kind: what the history is mostly about; empty for what its seed makes it.
    """

    name: str
    seed: int
    make: Callable[[], Defect]
    kind: str = ""

    @cached_property
    def played(self) -> tuple[World, Defect]:
        """The history, and what went wrong in it."""
        defect = self.make()
        world = defect.world = World(draw(self.seed, self.kind), defect)
        return world.play(), defect

    def play(self) -> World:
        """Return the history."""
        return self.played[0]


def flawed(seed: int, sound: World) -> Flawed:
    """Return a history with one defect: by turns of the seed, the first that shows in it.

    A defect that only hides what a fault of the run did shows in none.

    Args:
        seed: of the history.
        sound: the same history, played without a defect.

    Raises:
        LookupError: no defect finds an occasion in it.
    """
    for turn in range(len(TABLE)):
        make, _ = TABLE[(seed + turn) % len(TABLE)]
        item = Flawed(f"{make.__name__}-{seed}", seed, make, sound.scenario.kind)
        world, defect = item.played
        defect.sound = sound
        if defect.facts is None or not world.ended:
            continue
        if any(count > 0 for count in defect.expected().values()):
            return item
    raise LookupError(f"no defect finds an occasion in seed {seed}")


FLAWED = [Flawed(f"{make.__name__}-{seed}", seed, make) for make, seeds in TABLE for seed in seeds]
