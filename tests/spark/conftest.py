"""One Spark session for all Spark tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.interpreted import interpreted

from krt_scoring import cli
from krt_scoring.engine import class_data, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Local Spark with two cores, set up as for a small history."""
    started = session.local(rows=1_000, cores=2)
    started.sparkContext.setLogLevel("ERROR")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def interpreting(spark: SparkSession) -> Iterator[None]:
    """Interpret the queries of a module, for histories of few records."""
    with interpreted(spark):
        yield


@pytest.fixture
def krt_score(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the command line on the session that is there: starting one takes longer than scoring."""
    monkeypatch.setattr(session, "local", lambda *_: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    # A JVM that writes the archive of this machine would have to end after the second scoring.
    monkeypatch.setattr(class_data, "find", lambda: None)

    def run(*arguments: str) -> int:
        return cli.main(arguments)

    return run
