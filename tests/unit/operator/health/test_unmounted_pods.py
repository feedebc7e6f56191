"""Which pods are annotated, so that their kubelets mount their volumes at once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from krt_contract.labels import ANNOTATION_MOUNT_RETRIED
from krt_operator.api.times import format_time
from krt_operator.engine.progress import Observed
from krt_operator.health.unmounted_pods import LIMIT, PATIENCE, mount_retries

SCHEDULED = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
MOMENT = timedelta(milliseconds=1)


def condition(type_: str, status: str) -> dict[str, str]:
    return {"type": type_, "status": status, "lastTransitionTime": format_time(SCHEDULED)}


PLACED = condition("PodScheduled", "True")
NOT_MOUNTED = condition("PodReadyToStartContainers", "False")
MOUNTED = condition("PodReadyToStartContainers", "True")


def retried(
    after: timedelta,
    *conditions: dict[str, str],
    phase: str = "Pending",
    last: timedelta | None = None,
    **meta: str,
) -> bool:
    """Whether a pod would be annotated so long after it was scheduled."""
    given: dict[str, Any] = {"name": "p", "uid": "u", **meta}
    if last is not None:
        given["annotations"] = {ANNOTATION_MOUNT_RETRIED: format_time(SCHEDULED + last)}
    pod = {"metadata": given, "status": {"phase": phase, "conditions": list(conditions)}}
    return bool(mount_retries(Observed(at=SCHEDULED + after, pods={"p": pod})))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (PATIENCE - MOMENT, False),
        (PATIENCE, True),
        (LIMIT, True),
        (LIMIT + MOMENT, False),
    ],
)
def test_between_patience_and_limit(after: timedelta, expected: bool) -> None:
    assert retried(after, PLACED, NOT_MOUNTED) is expected


def test_before_the_kubelet_reports_anything() -> None:
    assert retried(PATIENCE, PLACED)


def test_again_after_the_last_time() -> None:
    assert not retried(2 * PATIENCE - MOMENT, PLACED, NOT_MOUNTED, last=PATIENCE)
    assert retried(2 * PATIENCE, PLACED, NOT_MOUNTED, last=PATIENCE)


def test_no_pod_that_is_not_scheduled_or_has_its_volumes() -> None:
    assert not retried(PATIENCE, condition("PodScheduled", "False"))
    assert not retried(PATIENCE, PLACED, MOUNTED)
    assert not retried(PATIENCE, PLACED, phase="Failed")
    assert not retried(PATIENCE, PLACED, deletionTimestamp=format_time(SCHEDULED))
