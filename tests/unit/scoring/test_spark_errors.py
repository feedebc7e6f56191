"""What ended Spark's JVM: too little memory only where something proves it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from krt_scoring.engine import spark_errors
from krt_scoring.errors import SparkFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REMEDY = "raise the setting"
LOST = ConnectionRefusedError(111, "Connection refused")


@pytest.fixture
def jvm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Let a process of this Python code take the place of the JVM."""
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str) -> None:
        started.append(subprocess.Popen([sys.executable, "-c", code]))
        monkeypatch.setattr(spark_errors, "_process", lambda: started[-1])

    yield start
    for process in started:
        process.kill()
        process.wait()


def failure(error: Exception) -> str:
    with pytest.raises(SparkFailedError) as caught, spark_errors.translate_errors(REMEDY):
        raise error
    return str(caught.value)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import os; os.kill(os.getpid(), 9)", "killed (SIGKILL)"),
        ("raise SystemExit(137)", "killed (SIGKILL)"),
        ("raise SystemExit(52)", "its heap was too small"),
    ],
)
@pytest.mark.parametrize("error", [LOST, EOFError(), Py4JNetworkError("no answer")])
def test_translate_errors_of_a_jvm_that_memory_ended_names_the_remedy(
    jvm: Callable[[str], None], code: str, cause: str, error: Exception
) -> None:
    jvm(code)
    message = failure(error)
    assert cause in message
    assert message.endswith(f": {REMEDY}")


def test_translate_errors_of_a_jvm_that_ended_otherwise_names_its_exit_code(
    jvm: Callable[[str], None],
) -> None:
    jvm("raise SystemExit(1)")
    message = failure(LOST)
    assert "with exit code 1 ([Errno 111] Connection refused)" in message
    assert REMEDY not in message
    assert "memory" not in message


def test_translate_errors_of_a_jvm_that_still_runs_names_the_connection(
    jvm: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_errors, "END_SECONDS", 0.1)
    jvm("import time; time.sleep(60)")
    message = failure(ConnectionResetError(104, "Connection reset by peer"))
    assert message == ("the connection to Spark's JVM failed: [Errno 104] Connection reset by peer")


class Thrown:
    """An exception of a JVM that is gone."""

    _target_id = "o1"

    def getCause(self) -> None:  # noqa: N802 (Java's name)
        raise LOST


def test_translate_errors_of_a_jvm_that_was_killed_after_it_threw_names_the_remedy(
    jvm: Callable[[str], None],
) -> None:
    jvm("import os; os.kill(os.getpid(), 9)")
    message = failure(Py4JJavaError("An error occurred while calling o1.collect", Thrown()))
    assert "killed (SIGKILL)" in message
    assert message.endswith(f": {REMEDY}")


def test_translate_errors_without_a_jvm_names_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_errors, "_process", lambda: None)
    assert failure(EOFError()) == "the connection to Spark's JVM failed: EOFError"


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", True),
        ("ExecutorLostFailure (executor 1 exited; exit code 137, reason OOMKilled)", True),
        ("The executor with id 2 exited with exit code 52(JVM OOM).", True),
        ("ExecutorLostFailure (executor 1 exited; the node was shut down)", False),
        ("ExecutorLostFailure (executor 1 exited with exit code 1)", False),
        ("no such table", False),
    ],
)
def test_translate_errors_of_a_message_names_memory_only_with_proof(
    text: str, *, memory: bool
) -> None:
    assert failure(Py4JError(text)).endswith(f": {REMEDY}") is memory
