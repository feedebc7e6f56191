"""Which findings lie within a part of the evidence that is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from krt_scoring.anomalies import voids
from krt_scoring.anomalies.lost_write import BASIS_DELIVERIES
from krt_scoring.anomalies.schema import FINDING
from krt_scoring.engine import local_rows
from krt_scoring.inputs.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

LOST, UNSEEN = "lost-write", "unseen"
CONSUME = ("consume",)
FOO_1 = (("foo", 1),)


@dataclass(frozen=True)
class Finding:
    """A finding, and what it names."""

    anomaly: str = LOST
    rule: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    incarnation: str | None = None
    tag: str | None = None


def frame(spark: SparkSession, findings: Sequence[Finding]) -> DataFrame:
    """Return findings as rows."""
    rows = []
    for item in findings:
        columns = {
            "anomaly": item.anomaly,
            "rule": item.rule,
            "topic": item.topic,
            "partition": item.partition,
            "grp": item.group,
            "producer_incarnation": item.incarnation,
            "tag": item.tag,
        }
        rows.append(tuple(columns.get(name) for name in FINDING.names))
    return local_rows.frame(spark, rows, FINDING)


def check(
    spark: SparkSession,
    scopes: Mapping[str, tuple[Scope, ...]],
    expected: Mapping[Finding, bool],
) -> None:
    """Compare which findings lie within scopes with what is expected of each."""
    shown = frame(spark, list(expected)).select(voids.within(scopes).alias("within"))
    found = dict(zip(expected, (row["within"] for row in shown.collect()), strict=True))
    assert found == expected


def test_within_one_scope_is_what_names_that_part_or_nothing(spark: SparkSession) -> None:
    for scope, inside, outside in (
        (
            Scope(partitions=FOO_1),
            Finding(topic="foo", partition=1),
            Finding(topic="foo", partition=2),
        ),
        (Scope(partitions=FOO_1), Finding(), Finding(topic="bar", partition=1)),
        (Scope(groups=("g",)), Finding(group="g"), Finding(group="h")),
        (Scope(groups=("g",)), Finding(), Finding(group="h", topic="foo", partition=1)),
        (Scope(incarnations=("p0",)), Finding(incarnation="p0"), Finding(incarnation="p1")),
        # Only a loss that deliveries alone show rests on them.
        (Scope(tables=CONSUME), Finding(tag=BASIS_DELIVERIES), Finding(tag="other")),
        (Scope(tables=CONSUME), Finding(tag=BASIS_DELIVERIES, group="g"), Finding()),
    ):
        check(spark, {LOST: (scope,)}, {inside: True, outside: False})


def test_within_a_scope_of_several_parts_is_what_lies_in_all_of_them(spark: SparkSession) -> None:
    whole = Scope(CONSUME, FOO_1, ("g",), ("p0",))
    of_all = Finding(tag=BASIS_DELIVERIES, topic="foo", partition=1, group="g", incarnation="p0")
    expected = {
        of_all: True,
        Finding(tag=BASIS_DELIVERIES): True,
        Finding(topic="foo", partition=1, group="g", incarnation="p0"): False,
        Finding(tag=BASIS_DELIVERIES, topic="foo", partition=2, group="g", incarnation="p0"): False,
        Finding(tag=BASIS_DELIVERIES, topic="foo", partition=1, group="h", incarnation="p0"): False,
        Finding(tag=BASIS_DELIVERIES, topic="foo", partition=1, group="g", incarnation="p1"): False,
    }
    check(spark, {LOST: (whole,)}, expected)


def test_within_several_scopes_is_what_lies_in_one_of_them(spark: SparkSession) -> None:
    scopes = {
        LOST: (Scope(partitions=FOO_1), Scope(incarnations=("p0",))),
        UNSEEN: (Scope(groups=("g",)),),
    }
    elsewhere = Finding(topic="foo", partition=2, incarnation="p1", group="g")
    expected = {
        Finding(topic="foo", partition=1, incarnation="p1"): True,
        Finding(topic="foo", partition=2, incarnation="p0"): True,
        elsewhere: False,
        # Each anomaly by its own.
        Finding(UNSEEN, topic="foo", partition=1, group="g"): True,
        Finding(UNSEEN, topic="foo", partition=1, group="h"): False,
        Finding("vanished-read", topic="foo", partition=1, group="g", incarnation="p0"): False,
    }
    check(spark, scopes, expected)


def test_count_adds_the_violations_within_scopes_to_those_of_whole_anomalies(
    spark: SparkSession,
) -> None:
    findings = frame(
        spark,
        [
            *[Finding(topic="foo", partition=number) for number in (1, 1, 2)],
            Finding(rule="unclean-election", topic="foo", partition=1),
            Finding(UNSEEN, topic="foo", partition=1),
        ],
    )
    scopes = {LOST: (Scope(partitions=FOO_1),), "vanished-read": (Scope(partitions=FOO_1),)}
    violations = {LOST: 3, UNSEEN: 1, "vanished-read": 0}
    assert voids.count(findings, [UNSEEN, "poll-skip"], scopes, violations) == {LOST: 2, UNSEEN: 1}
    assert voids.count(findings, [UNSEEN], {}, violations) == {UNSEEN: 1}
    assert voids.count(None, [], scopes, {}) == {}
    none_within = findings.filter(sf.col("partition") == 2)
    assert voids.count(none_within, [], scopes, {LOST: 1}) == {}
