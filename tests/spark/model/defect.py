"""A defect: where a model goes wrong, once, and what must be found of it and of nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.spark.model.engine import SECOND
from tests.spark.model.flaw import Flaw
from tests.spark.model.scenario import WARMUP

if TYPE_CHECKING:
    from tests.spark.model.scoring import Findings
    from tests.spark.model.world import World

CALM = (3 * SECOND, WARMUP - SECOND)
"""µs in which traffic flows and no fault has acted yet: what goes wrong here stays local."""


class Defect(Flaw):
    """Goes wrong at the first fitting occasion.

    Attributes:
        joint: the joint of the model at which it acts.
        world: where it acts; set when it is played.
        sound: the same seed, played without the defect.
        facts: what it acted on; None while it has not.
    """

    joint = ""

    def __init__(self) -> None:
        self.world: World
        self.sound: World
        self.facts: dict[str, Any] | None = None

    def strikes(self, joint: str, **facts: object) -> bool:
        """Strike once, at the first occasion that fits."""
        if joint != self.joint or self.facts is not None or not self.fits(**facts):
            return False
        self.facts = dict(facts)
        return True

    @property
    def calm(self) -> bool:
        """Whether now is before the first fault."""
        return CALM[0] <= self.world.engine.now <= CALM[1]

    def fits(self, **_facts: Any) -> bool:
        """Whether an occasion is one to strike at."""
        return self.calm

    @property
    def struck(self) -> dict[str, Any]:
        """What it acted on.

        Raises:
            LookupError: it found no occasion in this history.
        """
        if self.facts is None:
            raise LookupError(
                f"{type(self).__name__} found no occasion of seed {self.world.scenario.seed}"
            )
        return self.facts

    def expected(self) -> Findings:
        """Return what is found beyond what is found of the same history without the defect."""
        raise NotImplementedError
