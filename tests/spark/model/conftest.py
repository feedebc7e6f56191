"""Histories played and scored, many at a time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from tests.spark.interpreted import interpreted
from tests.spark.model import evidence
from tests.spark.model.catalogue import FLAWED, SEEDS, Flawed
from tests.spark.model.scenario import draw
from tests.spark.model.scoring import Scored, score
from tests.spark.model.world import World
from tests.spark.seeds import divide

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

RUNS = "KRT_RUNS"
"""How many seeds are played besides the usual ones, without a defect and with one; ``make
test-all`` sets 1 000."""
FIRST_RUN = "KRT_FIRST_RUN"
"""The first of these seeds."""
BATCH = 50
"""Seeds in one run of the scorer."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Divide the seeds into runs of one batch."""
    divide(metafunc, "runs", BATCH, first=(FIRST_RUN, 1000), count=(RUNS, 10))


FLEET = 27
"""Histories scored in one run: planning a query costs more than running it on so few records,
and above this the topics make expressions so long that compiling them costs more again."""


@pytest.fixture(scope="session")
def sound() -> Callable[[int], World]:
    """Plays a seed without a defect, once."""
    done: dict[int, World] = {}

    def play(seed: int) -> World:
        if seed not in done:
            done[seed] = World(draw(seed)).play()
        return done[seed]

    return play


@pytest.fixture(scope="session")
def scored(
    spark: SparkSession, sound: Callable[[int], World], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Scored]:
    """Scores a history together with its fleet, once."""
    histories = {f"seed-{seed}": partial(sound, seed) for seed in SEEDS}
    histories |= {item.name: partial(Flawed.play, item) for item in FLAWED}
    names = list(histories)
    done: dict[int, Scored] = {}

    def of(name: str) -> Scored:
        fleet = names.index(name) // FLEET
        if fleet not in done:
            members = names[fleet * FLEET : (fleet + 1) * FLEET]
            worlds = {member: histories[member]() for member in members}
            with interpreted(spark):
                done[fleet] = score(
                    spark, evidence.write(tmp_path_factory.mktemp(f"fleet-{fleet}"), worlds)
                )
        return done[fleet]

    return of
