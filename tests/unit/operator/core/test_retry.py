"""Passes that fail are made again until one succeeds or the daemon is stopped."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from krt_operator.app.metrics import Metrics
from krt_operator.app.retry import FIRST_RETRY, LAST_RETRY, retrying
from krt_operator.errors import PlanUnreadableError, RefusedError, TransientError

if TYPE_CHECKING:
    import tenacity


class Daemon:
    """A daemon that is stopped after so many failures of its pass."""

    def __init__(self, failures: int, error: Exception, stop_after: int = 1000) -> None:
        self.left = failures
        self.error = error
        self.stop_after = stop_after
        self.pauses: list[float] = []
        self.metrics = Metrics()

    def retrying(self) -> tenacity.AsyncRetrying:
        return retrying(
            "ns/t",
            self.metrics,
            stopped=lambda: len(self.pauses) >= self.stop_after,
            sleep=self.sleep,
        )

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def run_once(self, name: str) -> float:
        assert name == "t"
        if self.left:
            self.left -= 1
            raise self.error
        return 2.0

    def run(self) -> float | None:
        async def call() -> float | None:
            return await self.retrying()(self.run_once, "t")

        return asyncio.run(call())


def test_retrying_after_failures_returns_the_delay_of_the_next_success() -> None:
    daemon = Daemon(3, TransientError("HTTP 503"))
    assert daemon.run() == 2.0
    assert len(daemon.pauses) == 3


def test_retrying_pauses_grow_to_the_limit_with_jitter() -> None:
    daemon = Daemon(12, TransientError("HTTP 503"))
    daemon.run()
    for number, pause in enumerate(daemon.pauses):
        longest = min(LAST_RETRY, FIRST_RETRY * 2**number)
        assert longest / 2 <= pause <= longest


@pytest.mark.parametrize(
    ("asked", "shortest", "longest"), [(7.0, 7.0, 7.0), (3600.0, 60.0, 60.0), (0.0, 0.5, 1.0)]
)
def test_retrying_waits_as_long_as_the_server_asks(
    asked: float, shortest: float, longest: float
) -> None:
    daemon = Daemon(1, TransientError("HTTP 429", retry_after=asked))
    daemon.run()
    (pause,) = daemon.pauses
    assert shortest <= pause <= longest


def test_retrying_when_stopped_returns_none() -> None:
    daemon = Daemon(1000, TransientError("HTTP 503"), stop_after=2)
    assert daemon.run() is None
    assert len(daemon.pauses) == 2


@pytest.mark.parametrize(
    ("error", "level", "traceback"),
    [
        (TransientError("HTTP 503"), logging.WARNING, False),
        (RefusedError("HTTP 403"), logging.WARNING, False),
        (PlanUnreadableError("schemaVersion 99"), logging.WARNING, False),
        (KeyError("defect"), logging.ERROR, True),
    ],
)
def test_retrying_reports_the_failure_in_log_and_metrics(
    caplog: pytest.LogCaptureFixture, error: Exception, level: int, traceback: bool
) -> None:
    daemon = Daemon(1, error)
    assert daemon.run() == 2.0
    (record,) = [record for record in caplog.records if record.name == "krt"]
    assert record.levelno == level
    assert (record.exc_info is not None) is traceback
    labels = {"reason": type(error).__name__}
    assert daemon.metrics.registry.get_sample_value("krt_reconcile_errors_total", labels) == 1
