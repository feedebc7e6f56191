"""The controller's metrics for Prometheus."""

from __future__ import annotations

from collections import Counter as Tally
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from krt_contract.metrics import (
    EXPIRY_ERRORS,
    PHASE_DURATION,
    RECONCILE_ERRORS,
    TESTS,
    TESTS_QUEUED,
    TESTS_UNFINISHED,
)
from krt_operator.api.status import ConditionType, Phase, is_terminal
from krt_operator.plan.capacity import OTHER_TEST_SLOW, PRESSURE
from krt_operator.plan.queue import QUEUED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krt_contract.metrics import Metric
    from krt_operator.api.status import Status
    from krt_operator.engine.views import Json

PHASE_SECONDS: Final = (1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1800)
"""Buckets of a phase's duration in seconds, chosen around those of the sample run."""

WAITING: Final = frozenset({QUEUED, OTHER_TEST_SLOW, PRESSURE})
"""Reasons of the condition Provisioned while a test waits for a slot or for the cluster."""


class Metrics:
    """The controller's counters, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._tests = self._counter(TESTS)
        self._unfinished = self._gauge(TESTS_UNFINISHED)
        self._queued = self._gauge(TESTS_QUEUED)
        self._phases = Histogram(
            PHASE_DURATION.name,
            PHASE_DURATION.meaning,
            PHASE_DURATION.labels,
            buckets=PHASE_SECONDS,
            registry=self.registry,
        )
        self._errors = self._counter(RECONCILE_ERRORS)
        self._expiry_errors = self._counter(EXPIRY_ERRORS)

    def serve(self, port: int) -> None:
        """Serve the metrics on a port."""
        start_http_server(port, registry=self.registry)

    def entered(self, before: Status, after: Status) -> None:
        """Count a phase that was left, and the verdict of a test that ended."""
        for record in after.phases:
            if record.name is before.phase and record.end_time is not None:
                took = (record.end_time - record.start_time).total_seconds()
                self._phases.labels(record.name.value).observe(took)
        if after.phase is not None and after.phase.terminal and after.verdict is not None:
            self._tests.labels(after.verdict.value).inc()

    def failed(self, error: BaseException) -> None:
        """Count a pass that raised, or an event that could not be created."""
        self._errors.labels(type(error).__name__).inc()

    def expiry_failed(self, error: BaseException) -> None:
        """Count a test that could not be deleted after its time, or tests not listed."""
        self._expiry_errors.labels(type(error).__name__).inc()

    def listed(self, tests: Iterable[Json]) -> None:
        """Take all tests that there are, as the API server has them."""
        statuses = [test.get("status") or {} for test in tests]
        # A test that no pass has met has no phase; it is about to be Pending.
        phases = Tally(status.get("phase") or Phase.PENDING.value for status in statuses)
        for phase in Phase:
            if not phase.terminal:
                self._unfinished.labels(phase.value).set(phases[phase.value])
        self._queued.set(sum(_is_queued(status) for status in statuses))

    def _counter(self, metric: Metric) -> Counter:
        return Counter(metric.name, metric.meaning, metric.labels, registry=self.registry)

    def _gauge(self, metric: Metric) -> Gauge:
        return Gauge(metric.name, metric.meaning, metric.labels, registry=self.registry)


def _is_queued(status: Json) -> bool:
    return not is_terminal(status.get("phase")) and any(
        condition.get("type") == ConditionType.PROVISIONED.value
        and condition.get("reason") in WAITING
        for condition in status.get("conditions") or []
    )
