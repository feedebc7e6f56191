"""What the controller exports for Prometheus."""

from __future__ import annotations

from typing import Any

from krt_contract.metrics import CONTROLLER_METRICS
from krt_operator.app.metrics import Metrics
from krt_operator.plan.capacity import OTHER_TEST_SLOW
from krt_operator.plan.queue import QUEUED


def test_metrics_are_those_of_the_contract() -> None:
    found = {family.name for family in Metrics().registry.collect()}
    assert found == {metric.name.removesuffix("_total") for metric in CONTROLLER_METRICS}


def _in_phase(phase: str | None, reason: str = "") -> dict[str, Any]:
    if phase is None:
        return {"metadata": {"name": "t"}}
    condition = {"type": "Provisioned", "status": "Unknown", "reason": reason}
    return {"status": {"phase": phase, "conditions": [condition] if reason else []}}


def _unfinished(metrics: Metrics, phase: str) -> float | None:
    return metrics.registry.get_sample_value("krt_tests_unfinished", {"phase": phase})


def test_listed_counts_unfinished_tests_by_phase_and_those_in_the_queue() -> None:
    metrics = Metrics()
    metrics.listed(
        [
            _in_phase(None),
            _in_phase("Pending", QUEUED),
            _in_phase("Pending", OTHER_TEST_SLOW),
            _in_phase("Pending", "PreviousTestTerminating"),
            _in_phase("Injecting", "Provisioned"),
            _in_phase("Completed"),
            # Aborted while it waited: the condition stays.
            _in_phase("Aborted", QUEUED),
        ]
    )
    assert _unfinished(metrics, "Pending") == 4
    assert _unfinished(metrics, "Injecting") == 1
    assert _unfinished(metrics, "Warmup") == 0
    assert _unfinished(metrics, "Completed") is None
    assert metrics.registry.get_sample_value("krt_tests_queued") == 2
    metrics.listed([])
    assert _unfinished(metrics, "Pending") == 0
    assert metrics.registry.get_sample_value("krt_tests_queued") == 0
