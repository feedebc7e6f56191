"""What the client makes of the answers of an API server."""

from __future__ import annotations

from typing import Any

import pytest

from krt_operator.errors import ConflictError, KrtError, TransientError
from krt_operator.kubernetes.client import FINALIZER_ATTEMPTS, ApiCluster
from krt_operator.kubernetes.rest import NotFoundError, Rest

FINALIZER = "kafkaresilience.dev/finalizer"


class Answers(Rest):
    """Answers by method; an exception is raised. The test has the controller's finalizer."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.calls: list[str] = []

    def call(self, method: str, path: str, **_: Any) -> Any:
        assert path.startswith("/api")
        self.calls.append(method)
        answer = self.answers.get(method, {})
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if method == "GET":
            return {"metadata": {"name": "t", "resourceVersion": "1", "finalizers": [FINALIZER]}}
        return answer


def _cluster(**answers: Any) -> ApiCluster:
    return ApiCluster(Answers(**answers), "ns")


def test_not_found_error_is_retried_like_any_transient_error() -> None:
    assert issubclass(NotFoundError, TransientError)


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("PATCH", lambda cluster: cluster.apply({"kind": "Pod", "metadata": {"name": "p"}})),
        ("POST", lambda cluster: cluster.create({"kind": "Pod", "metadata": {"name": "p"}})),
        ("POST", lambda cluster: cluster.emit({"metadata": {"name": "e"}})),
        ("GET", lambda cluster: cluster.tests()),
    ],
)
def test_cluster_call_answered_with_404_raises_an_error_of_ours(method: str, call: Any) -> None:
    with pytest.raises(KrtError):
        call(_cluster(**{method: NotFoundError("HTTP 404")}))


def test_emit_of_an_event_that_exists_does_nothing() -> None:
    _cluster(POST=ConflictError("HTTP 409")).emit({"metadata": {"name": "e"}})


def test_remove_finalizers_with_a_conflict_reads_again() -> None:
    rest = Answers(PATCH=[ConflictError("HTTP 409"), {}])
    assert ApiCluster(rest, "ns").remove_finalizers("t")
    assert rest.calls == ["GET", "PATCH", "GET", "PATCH"]


def test_remove_finalizers_with_conflicts_only_raises() -> None:
    rest = Answers(PATCH=ConflictError("HTTP 409"))
    with pytest.raises(ConflictError):
        ApiCluster(rest, "ns").remove_finalizers("t")
    assert rest.calls.count("PATCH") == FINALIZER_ATTEMPTS


def test_remove_finalizers_of_a_test_deleted_meanwhile_is_done() -> None:
    assert not _cluster(PATCH=NotFoundError("HTTP 404")).remove_finalizers("t")
