"""One local session for one history after another.

Starting a JVM, loading its classes and compiling queries takes most of the time of a small history;
the second one of a session does without. What cannot be changed in a session that runs (heap and
flags of the JVM) decides whether the next history needs one of its own.
"""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from krt_scoring.engine import session, shutdown, spark_errors
from krt_scoring.engine.class_data import Start

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, TypeVar

    from pyspark.sql import SparkSession

    from krt_scoring.engine.class_data import ClassData

    T = TypeVar("T")


ARCHIVING_S = 60
"""Seconds that a JVM may take to end that writes the classes it loaded into an archive."""


class LocalSession:
    """Runs work in a session that fits it, started where none does.

    Args:
        cores: worker threads.
        memory: heap of the JVM; None: by the rows of a history.
        class_data: the archive of the classes that it loads; None: it reads them from their jars.
    """

    def __init__(self, cores: int, memory: str | None, class_data: ClassData | None = None) -> None:
        self._cores, self._memory, self._class_data = cores, memory, class_data
        self._spark: SparkSession | None = None
        self._made_for: tuple[str, str] | None = None
        self._writing: ClassData | None = None

    def __enter__(self) -> Self:
        """Return the session, which has not begun."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what runs; a JVM that ended by itself was reported by ``run``."""
        if self._spark is None:
            return
        with contextlib.suppress(Py4JError, OSError, subprocess.TimeoutExpired):
            if self._writing is None:
                self._spark.stop()
            else:
                self._end(self._spark)

    def run(self, rows: int, work: Callable[[SparkSession], T]) -> T:
        """Return what ``work`` returns, done in a session for a history of about ``rows`` rows.

        Raises:
            SparkFailedError: the JVM threw an exception, or ended.
        """
        sizing = session.Sizing(rows, self._cores)
        memory = self._memory or sizing.local_memory
        remedy = f"give it more with --driver-memory (it had {memory})"
        with spark_errors.translate_errors(remedy):
            return work(self._fitting(sizing, memory))

    def _fitting(self, sizing: session.Sizing, memory: str) -> SparkSession:
        needed = (memory, sizing.java_flags)
        if self._spark is not None and needed != self._made_for:
            self._end(self._spark)
            self._spark = None
        if self._spark is None:
            start = Start() if self._class_data is None else self._class_data.start()
            self._spark = session.local(sizing.rows, memory, self._cores, start.flags)
            self._made_for = needed
            self._writing = self._class_data if start.writes else None
        else:
            session.fit(self._spark, sizing)
        return self._spark

    def _end(self, spark: SparkSession) -> None:
        """End a session and its JVM, and keep the archive that this one writes, if any."""
        if self._writing is None:
            shutdown.stop(spark)
            return
        shutdown.stop(spark, ARCHIVING_S)
        self._writing.keep()
