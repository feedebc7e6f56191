"""What scoring can fail with. What is wrong inside a bundle is no error but a Reason."""

from __future__ import annotations


class ScoringError(Exception):
    """Scoring could not be done; the message says what to do."""


class NotABundleError(ScoringError):
    """The path holds no evidence bundle (exit 2)."""


class StoreReadError(ScoringError):
    """The object store did not give the evidence (exit 2)."""


class NotWritableError(ScoringError):
    """What was scored cannot be written where it was to go (exit 2)."""


class PlanError(ScoringError):
    """The run's plan (run.json or plan.json) cannot be used (exit 2)."""


class ControlError(ScoringError):
    """The run was aborted, or its control ConfigMap cannot be read (exit 2)."""


class NoExecutorsError(ScoringError):
    """No executor registered with the driver in time (exit 4)."""


class TopicReadError(ScoringError):
    """The topics could not be read as they were bounded (other exit)."""


class SparkFailedError(ScoringError):
    """Spark itself failed, by too little memory for instance (exit 6; 1 of ``krt-score``)."""
