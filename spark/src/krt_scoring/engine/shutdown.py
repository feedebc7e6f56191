"""Ends a session together with its JVM, whose memory others need then.

``SparkSession.stop`` leaves the JVM running, for a next session of the same process. The driver has
none, and draws the report's charts afterwards, within the same limit of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import SparkContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 20
"""Seconds that the JVM may take to end."""


def stop(spark: SparkSession, patience_s: int = PATIENCE_S) -> None:
    """Stop a session and end its JVM.

    Args:
        spark: the session.
        patience_s: seconds that the JVM may take to end.

    Raises:
        Py4JError, OSError, subprocess.TimeoutExpired: it did not end in order.
    """
    gateway: Any = SparkContext._gateway  # noqa: SLF001 (the only reference to its process)
    spark.stop()
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    gateway.shutdown()
    # The JVM ends when its standard input does.
    process.stdin.close()
    process.wait(patience_s)
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
