"""Fixtures of the differential test: a session for small data, and which histories it compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.oracle.compare import BATCH, scorer
from tests.spark.seeds import divide
from tests.spark.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from tests.spark.oracle.compare import Scorer

HISTORIES = "KRT_HISTORIES"
"""How many random histories both checkers judge; ``make test-all`` sets 10 000."""
FIRST_SEED = "KRT_FIRST_SEED"
"""The seed of the first one, to compare others than the usual ones."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Divide the histories into runs of one batch."""
    divide(metafunc, "seeds", BATCH, first=(FIRST_SEED, 0), count=(HISTORIES, 300))


@pytest.fixture(scope="module")
def score(spark: SparkSession) -> Iterator[Scorer]:
    """Return the scorer on a session for many histories."""
    with side_by_side(spark):
        yield scorer(spark)
