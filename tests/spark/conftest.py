"""One Spark session for all Spark tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from krt_scoring import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Local Spark with two cores, set up as for a small history."""
    started = session.local(rows=1_000, cores=2)
    started.sparkContext.setLogLevel("ERROR")
    yield started
    started.stop()
