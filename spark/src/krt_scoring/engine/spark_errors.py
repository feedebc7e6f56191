"""Errors of Spark's JVM, as one line that names the remedy.

Too little memory is named only where something proves it: a message of the JVM or of Spark, or how
a process ended. Whatever else ended or cut off the JVM is reported as what it is.
"""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
    # How an executor's process ended, as Spark reports it: killed by the kernel, or by Spark's own
    # handler of an OutOfMemoryError.
    "OOMKilled",
    "exit code 137",
    "exit code 52",
)
"""Texts in the JVM's messages when memory was too little."""

SHUT_DOWN = "SparkContext was shut down"
"""Left to the caller of a local session whose JVM ends; how it ends says why."""

ENDS_BY_MEMORY = {
    -9: "it was killed (SIGKILL), as the kernel does when memory runs out",
    137: "it was killed (SIGKILL), as the kernel does when memory runs out",
    52: "its heap was too small",
}
"""Exit status of the JVM that memory explains; 52 is Spark's own, after an OutOfMemoryError."""

END_SECONDS = 5.0
"""How long the JVM may take to end once its connections broke."""


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
        try:
            cause = _cause(error)
        except (Py4JError, OSError):
            # The JVM threw it, and was gone before it could be asked what it was.
            raise SparkFailedError(_ended(_process(), str(error.errmsg), memory)) from error
        if SHUT_DOWN in cause:
            raise SparkFailedError(_ended(_process(), cause, memory)) from error
        raise SparkFailedError(_message(cause, memory)) from error
    except (Py4JNetworkError, ConnectionRefusedError, ConnectionResetError, EOFError) as error:
        cause = " ".join(str(error).split()) or type(error).__name__
        raise SparkFailedError(_ended(_process(), cause, memory)) from error
    except Py4JError as error:
        raise SparkFailedError(_message(str(error).strip(), memory)) from error


def _message(cause: str, memory: str) -> str:
    remedy = f": {memory}" if any(sign in cause for sign in MEMORY_SIGNS) else ""
    return f"Spark failed: {cause}{remedy}"


def _ended(process: subprocess.Popen[Any] | None, cause: str, memory: str) -> str:
    """Return how the JVM ended, or what cut it off where it did not."""
    status = None
    if process is not None:
        try:
            status = process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
    if status is None:
        return f"the connection to Spark's JVM failed: {cause}"
    if status in ENDS_BY_MEMORY:
        return f"Spark's JVM ended while it was at work: {ENDS_BY_MEMORY[status]}: {memory}"
    return (
        f"Spark's JVM ended while it was at work, with exit code {status} ({cause}): see its last "
        "lines in this log"
    )


def _process() -> subprocess.Popen[Any] | None:
    """Return the process of the JVM that PySpark started, None where there is none."""
    from pyspark import SparkContext  # noqa: PLC0415 (tests of messages need no Spark)

    gateway = SparkContext._gateway  # noqa: SLF001 (PySpark has no public way to ask)
    return getattr(gateway, "proc", None)


def _cause(error: Py4JJavaError) -> str:
    """Return the innermost exception of the JVM in one line.

    Raises:
        Py4JError, OSError: the JVM, which is asked, is gone.
    """
    thrown = error.java_exception
    while thrown.getCause() is not None:
        thrown = thrown.getCause()
    return " ".join(str(thrown.toString()).split())
