"""Waiting for the executors, within a bound: an unschedulable one would be waited for forever."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from krt_scoring.errors import NoExecutorsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S = 0.1
"""Seconds between looks; Spark offers Python no event to wait on."""

log = logging.getLogger(__name__)


def registered(spark: SparkSession) -> int:
    """Return the executors that have registered with the driver."""
    jsc = spark.sparkContext._jsc  # noqa: SLF001 (PySpark has no public way to ask)
    # The driver's own block manager is in the list.
    return int(jsc.sc().getExecutorMemoryStatus().size()) - 1


def wait(spark: SparkSession, wanted: int, bound_s: int) -> int:
    """Wait for all executors; go on with fewer once the bound has passed.

    Returns:
        The executors there are.

    Raises:
        NoExecutorsError: none came in time.
    """
    deadline = time.monotonic() + bound_s
    found = registered(spark)
    while found < wanted and time.monotonic() < deadline:
        time.sleep(POLL_S)
        found = registered(spark)
    if not found:
        raise NoExecutorsError(
            f"none of {wanted} executors registered within {bound_s} s: see the events of pods "
            "with label spark-role=executor (cpu or memory that no node has free, an image that "
            "cannot be pulled, a claim that cannot be mounted)"
        )
    if found < wanted:
        log.warning("scoring with %d of %d executors", found, wanted)
    return found
