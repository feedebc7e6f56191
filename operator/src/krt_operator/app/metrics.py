"""The controller's metrics for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server

if TYPE_CHECKING:
    from krt_operator.api.status import Status

PHASE_SECONDS = (1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1800)
"""Buckets of a phase's duration in seconds, chosen around those of the sample run."""


class Metrics:
    """The controller's counters, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._tests = Counter(
            "krt_tests", "Tests that ended, by verdict.", ["verdict"], registry=self.registry
        )
        self._phases = Histogram(
            "krt_phase_duration_seconds",
            "Duration of phases in seconds.",
            ["phase"],
            buckets=PHASE_SECONDS,
            registry=self.registry,
        )
        self._errors = Counter(
            "krt_reconcile_errors",
            "Passes that failed and events not created, by kind of error.",
            ["reason"],
            registry=self.registry,
        )

        self._expiry_errors = Counter(
            "krt_expiry_errors",
            "Failures to delete a test after ttlSecondsAfterFinished, by kind of error.",
            ["reason"],
            registry=self.registry,
        )

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
