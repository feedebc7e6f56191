"""Fixtures of the differential test: a session for small data, and which histories it compares."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.spark.oracle.compare import scorer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from tests.spark.oracle.compare import Scorer

HISTORIES = "KRT_HISTORIES"
"""How many random histories both checkers judge; ``make test-all`` sets 10 000."""
FIRST_SEED = "KRT_FIRST_SEED"
"""The seed of the first one, to compare others than the usual ones."""

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Compiling a query takes far longer than interpreting it on a few hundred rows."""


@pytest.fixture(scope="session")
def seeds() -> range:
    """Return the seeds of the histories to compare."""
    first = int(os.environ.get(FIRST_SEED, "0"))
    return range(first, first + int(os.environ.get(HISTORIES, "300")))


@pytest.fixture(scope="module")
def score(spark: SparkSession) -> Iterator[Scorer]:
    """Return the scorer on a session that interprets its queries."""
    before: dict[str, str | None] = {key: spark.conf.get(key, None) for key in INTERPRETED}
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)
    yield scorer(spark)
    for key, value in before.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)
