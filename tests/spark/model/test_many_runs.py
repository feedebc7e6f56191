"""A correct Kafka is never accused, and one defect is found as what it is, over many runs.

``KRT_RUNS=1000 pytest tests/spark/model/test_many_runs.py`` plays a thousand seeds, each without a
defect and with one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.spark.model import evidence, truth
from tests.spark.model.catalogue import flawed
from tests.spark.model.scenario import KEEPING, KINDS, draw
from tests.spark.model.scoring import score
from tests.spark.model.world import World
from tests.spark.side_by_side import side_by_side

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.model.catalogue import Flawed
    from tests.spark.model.scoring import Findings, Scored


LOSSES = ("lost-write", "vanished-read")
AFTER_LOSSES = ("unseen", "poll-skip", "commit-ahead", "duplicate-delivery", "misplaced-delivery")
"""What members show that stood above what was lost, or read on over the hole."""
SHOWN = 5
"""Accusations of one history that are printed."""


def test_score_of_many_runs_names_their_defects_and_nothing_else(
    runs: range, spark: SparkSession, tmp_path: Path
) -> None:
    clean = {seed: World(draw(seed)).play() for seed in runs}
    # Where an election permits any loss, it may permit, or undo, what the defect did.
    sound = {
        seed: world if world.scenario.kind in KEEPING else World(draw(seed, kept(seed))).play()
        for seed, world in clean.items()
    }
    assert [seed for seed in runs if not (clean[seed].ended and sound[seed].ended)] == []
    broken = {seed: flawed(seed, world) for seed, world in sound.items()}
    sane = {f"seed-{seed}": world for seed, world in clean.items()} | {
        f"sound-{seed}": world for seed, world in sound.items() if world is not clean[seed]
    }
    worlds = sane | {item.name: item.play() for item in broken.values()}
    with side_by_side(spark):
        scored = score(spark, evidence.write(tmp_path, worlds))
    assert scored.reasons == ()
    wrong = [
        f"{name} is accused:\n{accusations(scored, name)}"
        for name, world in sane.items()
        if accused(scored, name) != truth.inversions(world)
    ]
    for seed, item in broken.items():
        same = sound[seed] is clean[seed]
        beyond = Counter(scored.of(item.name))
        beyond.subtract(scored.of(f"seed-{seed}" if same else f"sound-{seed}"))
        if (problem := missed(item, scored.of(item.name), beyond)) is not None:
            wrong.append(f"{item.name}: {problem}\n{accusations(scored, item.name)}")
    assert not wrong, f"{len(wrong)} of {len(worlds)}:\n" + "\n".join(wrong)


def kept(seed: int) -> str:
    """Return a kind of history, by turns of the seed, in which no election permits any loss."""
    return KEEPING[seed // len(KINDS) % len(KEEPING)]


def accused(scored: Scored, name: str) -> int:
    """Return how many findings of a history nothing permits."""
    return sum(count for (_, rule), count in scored.of(name).items() if rule is None)


def accusations(scored: Scored, name: str) -> str:
    """Return the first findings of a history that nothing permits, as text."""
    return "\n".join(scored.accusations(name).splitlines()[:SHOWN])


def missed(item: Flawed, found: Findings, beyond: Findings) -> str | None:
    """Return how a defect was not found, or what it was taken for besides; None where neither is.

    How often each anomaly is found is compared where the seed is known (``test_no_false_alarm``):
    a defect changes when things happen, and with it what is sent, read and committed again.

    Args:
        item: the history with the defect.
        found: what was found in it.
        beyond: the same without what was found in the same history without the defect.
    """
    world, defect = item.played
    expected = {key for key, count in defect.expected().items() if count > 0}
    if not expected & set(found):
        return f"not found: {expected}; but {found}"
    names = {name for name, _ in expected}
    if names & set(LOSSES):
        names |= set(AFTER_LOSSES)
    if truth.inversions(world) > truth.inversions(defect.sound):
        names.add("nonmonotonic-send")
    other = {name for (name, rule), count in beyond.items() if rule is None and count > 0} - names
    return f"taken for {other} besides {names}" if other else None
