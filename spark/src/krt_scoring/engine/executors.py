"""Waiting for executors, within a bound: one that cannot be scheduled never registers."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from krt_scoring.errors import NoExecutorsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL_S = 0.1
"""Seconds between polls; Spark offers Python no event to wait on."""

log = logging.getLogger(__name__)


def count_registered(spark: SparkSession) -> int:
    """Return the executors that have registered with the driver."""
    jsc = spark.sparkContext._jsc  # noqa: SLF001 (PySpark has no public way to ask)
    # The driver's own block manager is in the list.
    return int(jsc.sc().getExecutorMemoryStatus().size()) - 1


def wait(spark: SparkSession, expected: int, bound_s: int) -> int:
    """Wait for all executors; go on with fewer once the bound has passed.

    Args:
        spark: the session.
        expected: how many executors were requested.
        bound_s: seconds to wait.

    Returns:
        The executors there are.

    Raises:
        NoExecutorsError: none registered in time.
    """
    deadline = time.monotonic() + bound_s
    found = count_registered(spark)
    while found < expected and time.monotonic() < deadline:
        time.sleep(POLL_S)
        found = count_registered(spark)
    if not found:
        raise NoExecutorsError(
            f"none of {expected} executors registered within {bound_s} s: see the events of pods "
            "with label spark-role=executor (cpu or memory that no node has free, an image that "
            "cannot be pulled, a claim that cannot be mounted)"
        )
    if found < expected:
        log.warning("scoring with %d of %d executors", found, expected)
    return found
