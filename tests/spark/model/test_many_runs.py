"""A correct Kafka is never accused, and one defect is found as what it did, over many runs.

``KRT_RUNS=1000 pytest tests/spark/model/test_many_runs.py`` plays a thousand seeds, each without a
defect and with one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.spark.model import evidence
from tests.spark.model.catalogue import flawed
from tests.spark.model.scenario import draw
from tests.spark.model.scoring import score
from tests.spark.model.world import World
from tests.spark.side_by_side import side_by_side

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.model.catalogue import Flawed


def test_score_of_many_runs_finds_what_their_defects_did_and_nothing_else(
    runs: range, spark: SparkSession, tmp_path: Path
) -> None:
    sound = {seed: World(draw(seed)).play() for seed in runs}
    assert [seed for seed, world in sound.items() if not world.ended] == []
    broken = {seed: flawed(seed, world) for seed, world in sound.items()}
    worlds = {f"seed-{seed}": world for seed, world in sound.items()}
    worlds |= {item.name: item.play() for item in broken.values()}
    with side_by_side(spark):
        scored = score(spark, evidence.write(tmp_path, worlds))
    assert scored.reasons == ()
    wrong: list[str] = []
    for seed, item in broken.items():
        found = scored.of(f"seed-{seed}")
        if any(rule is None for _, rule in found):
            wrong.append(f"seed-{seed} is accused: {scored.accusations(f'seed-{seed}')}")
        beyond = Counter(scored.of(item.name))
        beyond.subtract(found)
        if (difference := deviation(item, beyond)) is not None:
            wrong.append(f"{item.name}: {difference}\n{scored.accusations(item.name)}")
    assert not wrong, "\n".join(wrong)


def deviation(item: Flawed, beyond: Counter[tuple[str, str | None]]) -> str | None:
    """Return how what was found beyond the sound run differs from what the defect did, or None."""
    _, defect = item.played
    expected = {key: count for key, count in defect.expected().items() if count}
    found = {key: count for key, count in beyond.items() if count}
    return None if found == expected else f"found {found}, expected {expected}"
