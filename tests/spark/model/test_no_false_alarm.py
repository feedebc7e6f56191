"""A correct Kafka is never accused, and one defect is found as exactly what it did."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.spark.model import evidence
from tests.spark.model.catalogue import FLAWED, SEEDS, Flawed

from krt_contract.bundle import Bundle
from krt_scoring.inputs import bundle_files
from krt_scoring.pipeline import assess

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.model.scoring import Findings, Scored
    from tests.spark.model.world import World


@pytest.mark.parametrize("seed", SEEDS)
def test_score_of_a_correct_kafka_has_no_violation(
    seed: int, sound: Callable[[int], World], scored: Callable[[str], Scored]
) -> None:
    assert sound(seed).ended
    outcome = scored(f"seed-{seed}")
    assert outcome.reasons == ()
    found = outcome.of(f"seed-{seed}")
    accused = {name: count for (name, rule), count in found.items() if rule is None}
    assert accused == {}, outcome.accusations(f"seed-{seed}")


@pytest.mark.parametrize("item", FLAWED, ids=lambda item: item.name)
def test_score_of_a_defect_detects_its_anomaly(
    item: Flawed, sound: Callable[[int], World], scored: Callable[[str], Scored]
) -> None:
    world, defect = item.played
    defect.sound = sound(item.seed)
    assert world.ended
    wanted = Counter({key: count for key, count in defect.expected().items() if count})
    assert wanted, "a defect that changes nothing shows nothing"
    outcome = scored(item.name)
    difference = outcome.of(item.name).copy()
    difference.subtract(scored(f"seed-{item.seed}").of(f"seed-{item.seed}"))
    found = Counter({key: count for key, count in difference.items() if count})
    assert found == wanted, outcome.accusations(item.name)


TOO_SHORT = ("coverage", "TooFewOperations", "before")
"""What a history lacks that is done in a minute; nothing else may be found wanting in it."""


@pytest.mark.parametrize("name", ["seed-2", "seed-4", "LosesCommit-30"])
def test_score_of_a_history_alone_gives_the_same_findings(
    name: str,
    spark: SparkSession,
    sound: Callable[[int], World],
    scored: Callable[[str], Scored],
    tmp_path: Path,
) -> None:
    flawed = {item.name: item for item in FLAWED}
    world = flawed[name].play() if name in flawed else sound(int(name.removeprefix("seed-")))
    root = evidence.write(tmp_path, {name: world})
    card = assess(spark, bundle_files.inspect(Bundle(root))).card
    alone: Findings = Counter()
    for anomaly, told in card["anomalies"].items():
        alone[anomaly, None] += told["violations"]
        alone.update({(anomaly, rule): count for rule, count in told["rules"].items()})
    assert +alone == scored(name).of(name)
    told = [
        (reason["kind"], reason["code"], reason["subject"])
        for reason in card["inconclusiveReasons"]
    ]
    assert told == [TOO_SHORT]
    assert card["verdict"] == ("Failed" if name in flawed else "Inconclusive")


def test_score_of_fifty_histories_of_each_kind() -> None:
    assert len(SEEDS) == 50
    assert len(FLAWED) >= 50
