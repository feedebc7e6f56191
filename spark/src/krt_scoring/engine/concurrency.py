"""Running work in a thread while other work goes on.

While a query of the one is planned, which keeps one core busy, a query of the other is run.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from pyspark import inheritable_thread_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

Result = TypeVar("Result")


@contextmanager
def in_background(spark: SparkSession, work: Callable[[], Result]) -> Iterator[Future[Result]]:
    """Run work in a thread of the session's during the block, which ends when both are done."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool.submit(inheritable_thread_target(spark)(work))


def start(work: Callable[[], Result]) -> Future[Result]:
    """Run work in a thread that the process does not wait for when it ends."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 (whoever asks for the result gets it)
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
