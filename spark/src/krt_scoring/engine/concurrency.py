"""Running work in a thread while other work goes on.

While a query of the one is planned, which keeps one core busy, a query of the other is run.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from pyspark import inheritable_thread_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from pyspark.sql import SparkSession

Result = TypeVar("Result")


@contextmanager
def in_background(spark: SparkSession, work: Callable[[], Result]) -> Iterator[Future[Result]]:
    """Run work in a thread of the session's during the block, which ends when both are done."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool.submit(inheritable_thread_target(spark)(work))
