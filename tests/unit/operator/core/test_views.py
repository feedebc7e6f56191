"""What the views of Kubernetes objects answer, also where the API server left fields out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from krt_operator.engine.views import JobView, ObjectView, PodView

if TYPE_CHECKING:
    from krt_operator.engine.views import Json

STARTED = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


def pod(**status: Any) -> PodView:
    return PodView({"metadata": {"name": "p", "uid": "u"}, "spec": {}, "status": status})


def ended(code: int, **fields: str) -> Json:
    return {"name": "main", "state": {"terminated": {"exitCode": code, **fields}}}


def test_pod_without_status_has_no_phase_containers_or_end() -> None:
    empty = PodView({"metadata": {"name": "p", "uid": "u"}, "spec": {}})
    assert (empty.phase, empty.node, empty.containers, empty.started) == ("", "", (), None)
    assert (empty.ready, empty.running, empty.ended) == (False, False, False)
    assert (empty.exit_code, empty.message) == (None, "")


def test_pod_being_deleted_is_neither_ready_nor_running() -> None:
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    assert (pod(**ready).ready, pod(**ready).running) == (True, True)
    raw = pod(**ready).raw
    raw["metadata"]["deletionTimestamp"] = "2026-11-21T04:00:00Z"
    assert (PodView(raw).ready, PodView(raw).running) == (False, False)


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        ({"containerStatuses": [ended(3, message="m", reason="Error")]}, 3, "m"),
        ({"containerStatuses": [ended(137, reason="OOMKilled")]}, 137, "OOMKilled"),
        ({"containerStatuses": [{"name": "a"}, ended(0, message="second")]}, 0, "second"),
        ({"reason": "Evicted"}, None, "Evicted"),
    ],
)
def test_pod_ended_gives_exit_code_and_message(
    status: dict[str, Any], code: int | None, message: str
) -> None:
    assert (pod(**status).exit_code, pod(**status).message) == (code, message)


@pytest.mark.parametrize("state", ["running", "terminated"])
def test_pod_started_is_the_start_of_its_first_container(state: str) -> None:
    statuses = [{"state": {state: {"startedAt": "2026-11-21T04:00:00Z"}}}]
    assert pod(containerStatuses=statuses).started == STARTED


def test_condition_with_other_status_is_none() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    found = pod(conditions=[condition]).condition("PodScheduled", "False")
    assert found is not None
    assert (found.reason, found.message) == ("Unschedulable", "")
    assert pod(conditions=[condition]).condition("PodScheduled") is None


def test_object_age_counts_from_its_creation() -> None:
    view = ObjectView({"metadata": {"creationTimestamp": "2026-11-21T03:59:30Z"}})
    assert view.age(STARTED) == 30


@pytest.mark.parametrize(
    ("conditions", "complete", "over", "failure"),
    [
        ([], False, False, ""),
        ([{"type": "Complete", "status": "True"}], True, True, ""),
        ([{"type": "Failed", "status": "True", "message": "m"}], False, True, "m"),
        ([{"type": "Failed", "status": "True", "reason": "R"}], False, True, "R"),
        ([{"type": "Failed", "status": "True"}], False, True, "the Job failed"),
    ],
)
def test_job_conditions_give_its_end(
    conditions: list[Json], complete: bool, over: bool, failure: str
) -> None:
    job = JobView({"metadata": {"uid": "j"}, "status": {"conditions": conditions}})
    assert (job.complete, job.ended, job.failure) == (complete, over, failure)


def test_job_pod_is_found_by_its_owner() -> None:
    job = JobView({"metadata": {"uid": "j"}})
    other = {"metadata": {"name": "other"}}
    own = {"metadata": {"name": "own", "ownerReferences": [{"uid": "j"}]}}
    found = job.pod([other, own])
    assert found is not None
    assert found.name == "own"
    assert job.pod([other]) is None
