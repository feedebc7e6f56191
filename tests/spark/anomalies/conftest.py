"""Fixtures: the cases of the folder ``cases``, and what is detected in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.anomalies.histories import (
    Outcome,
    by_groups,
    detect_side_by_side,
    history_of_cases,
    load_cases,
)
from tests.spark.anomalies.language import Case
from tests.spark.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from krt_scoring.history.tables import Tables


ALL = {case.name: case for case in load_cases()}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", list(ALL.values()), ids=list(ALL))


@pytest.fixture(scope="session")
def outcome_of(spark: SparkSession) -> Callable[[Case], Outcome]:
    """Detects the anomalies of all cases, in as few runs as hold them, once."""
    done: dict[str, Outcome] = {}

    def outcome(case: Case) -> Outcome:
        if not done:
            with side_by_side(spark):
                for batch in by_groups(list(ALL.values())):
                    done.update(detect_side_by_side(spark, batch))
        return done[case.name]

    return outcome


@pytest.fixture(scope="session")
def history_of(spark: SparkSession) -> Callable[..., Tables]:
    """Makes a history of one case."""

    def make(text: str, *, shuffled: bool = False) -> Tables:
        return history_of_cases(spark, [Case("topic").parse(text)], shuffled=shuffled)

    return make
