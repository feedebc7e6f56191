"""A session in which hundreds of small histories are judged in one run, each as a topic."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.spark.interpreted import interpreted

from krt_scoring.history import positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

TOPICS = {"PARTITION_BITS": 8, "_PARTITION_MASK": 255, "MAX_TOPICS": (1 << 15) - 1}
"""How positions are packed for so many topics of few partitions: topics take the bits that
partitions do not need here."""


@contextmanager
def side_by_side(spark: SparkSession) -> Iterator[None]:
    """Prepare the session for many histories within the block."""
    with interpreted(spark), pytest.MonkeyPatch.context() as patch:
        for name, number in TOPICS.items():
            patch.setattr(positions, name, number)
        yield
