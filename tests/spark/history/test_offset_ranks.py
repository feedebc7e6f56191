"""Ranks by bits and ranks by a window agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.anomalies.conftest import ALL
from tests.spark.anomalies.histories import by_groups, history_of_cases
from tests.spark.side_by_side import side_by_side

from krt_scoring.engine import session
from krt_scoring.history import facts as facts_module
from krt_scoring.history import offset_jumps

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession
    from tests.spark.anomalies.language import Case


CASES = ("poll-order", "delivery", "transforms", "unseen", "isr-and")
"""Beginnings of the names of the cases."""


def _skips(spark: SparkSession, cases: list[Case], *, plain: bool) -> list[Row]:
    tables = history_of_cases(spark, cases)
    facts = facts_module.collect(tables)
    before = str(spark.conf.get(session.PLAIN))
    spark.conf.set(session.PLAIN, session.Shortcut.OFFSET_RANKS if plain else "")
    try:
        steps = offset_jumps.build(tables, facts).filter(offset_jumps.is_step())
        forward = offset_jumps.directions(steps).forward
        return sorted(offset_jumps.skips(steps, tables, facts, forward).collect())
    finally:
        spark.conf.set(session.PLAIN, before)


def test_with_ranks_in_a_plain_session_gives_the_same_ranks(spark: SparkSession) -> None:
    cases = [case for name, case in ALL.items() if name.startswith(CASES)]
    with side_by_side(spark):
        for batch in by_groups(cases):
            by_bits = _skips(spark, batch, plain=False)
            assert by_bits
            plain = _skips(spark, batch, plain=True)
            assert [row.asDict() for row in by_bits] == [row.asDict() for row in plain]
