"""Errors of Spark's JVM, as one line that names the remedy."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from krt_scoring.errors import SparkFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY_SIGNS = (
    "OutOfMemory",
    "heap space",
    # Spark's own refusals of a heap below 450 MiB (UnifiedMemoryManager).
    "System memory",
    "Executor memory",
    # The messages left when a task of a local session, or an executor, died of it.
    "SparkContext was shut down",
    "ExecutorLostFailure",
)
"""Texts in the JVM's messages when memory was too little."""


@contextmanager
def translate_errors(memory: str) -> Iterator[None]:
    """Turn an error of Spark within the block into one ``SparkFailedError``.

    Args:
        memory: which setting to raise where memory was too little.

    Raises:
        SparkFailedError: the JVM threw an exception, or ended.
    """
    try:
        yield
    except Py4JJavaError as error:
        raise SparkFailedError(_message(_cause(error), memory)) from error
    except (Py4JNetworkError, ConnectionRefusedError, ConnectionResetError, EOFError) as error:
        raise SparkFailedError(
            f"Spark's JVM ended while it was at work, most likely out of memory: {memory}"
        ) from error
    except Py4JError as error:
        raise SparkFailedError(_message(str(error).strip(), memory)) from error


def _message(cause: str, memory: str) -> str:
    remedy = f": {memory}" if any(sign in cause for sign in MEMORY_SIGNS) else ""
    return f"Spark failed: {cause}{remedy}"


def _cause(error: Py4JJavaError) -> str:
    """Return the innermost exception of the JVM in one line, or else Python's text of it."""
    try:
        thrown = error.java_exception
        while thrown.getCause() is not None:
            thrown = thrown.getCause()
        return " ".join(str(thrown.toString()).split())
    except (Py4JError, OSError):
        return str(error).strip().splitlines()[0]
