"""What the client makes of the answers of an API server."""

from __future__ import annotations

from typing import Any

import pytest

from krt_operator.errors import ConflictError, KrtError, NameTakenError, TransientError
from krt_operator.kubernetes.client import FINALIZER_ATTEMPTS, ApiCluster
from krt_operator.kubernetes.rest import NotFoundError, Rest

POD = {"kind": "Pod", "metadata": {"name": "p", "ownerReferences": [{"uid": "uid-t"}]}}
OBSERVED = {"kind": "Pod", "metadata": {"name": "p", "uid": "u"}}
FINALIZER = "kafkaresilience.dev/finalizer"


class Answers(Rest):
    """Answers by method; an exception is raised. The test has the controller's finalizer."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.calls: list[str] = []
        self.bodies: list[Any] = []

    def call(self, method: str, path: str, **options: Any) -> Any:
        assert path.startswith("/api")
        self.calls.append(method)
        self.bodies.append(options.get("body"))
        answer = self.answers.get(method, {})
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if method == "GET" and not answer:
            return {"metadata": {"name": "t", "resourceVersion": "1", "finalizers": [FINALIZER]}}
        return answer


def _cluster(**answers: Any) -> ApiCluster:
    return ApiCluster(Answers(**answers), "ns")


def test_not_found_error_is_retried_like_any_transient_error() -> None:
    assert issubclass(NotFoundError, TransientError)


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("PATCH", lambda cluster: cluster.apply(OBSERVED)),
        ("POST", lambda cluster: cluster.apply(POD)),
        ("POST", lambda cluster: cluster.create(POD)),
        ("POST", lambda cluster: cluster.emit({"metadata": {"name": "e"}})),
        ("GET", lambda cluster: cluster.tests()),
    ],
)
def test_cluster_call_answered_with_404_raises_an_error_of_ours(method: str, call: Any) -> None:
    with pytest.raises(KrtError):
        call(_cluster(**{method: NotFoundError("HTTP 404")}))


def existing(kind: str, *owners: str) -> Answers:
    """Answers of an API server on which an object of that name has these owners."""
    found = {
        "kind": kind,
        "metadata": {"name": "p", "uid": "u", "ownerReferences": [{"uid": uid} for uid in owners]},
    }
    return Answers(POST=ConflictError("HTTP 409"), GET=found, PATCH={"kind": kind})


def test_apply_of_an_object_with_a_uid_changes_only_that() -> None:
    rest = Answers()
    ApiCluster(rest, "ns").apply(OBSERVED)
    assert rest.calls == ["PATCH"]
    assert rest.bodies == [OBSERVED]


def test_apply_of_an_object_of_the_same_owner_changes_it_by_its_uid() -> None:
    rest = existing("Service", "uid-t")
    ApiCluster(rest, "ns").apply({**POD, "kind": "Service"})
    assert rest.calls == ["POST", "GET", "PATCH"]
    assert rest.bodies[-1]["metadata"]["uid"] == "u"


def test_apply_of_a_pod_that_exists_changes_nothing() -> None:
    rest = existing("Pod", "uid-t")
    assert ApiCluster(rest, "ns").apply(POD)["metadata"]["uid"] == "u"
    assert rest.calls == ["POST", "GET"]


@pytest.mark.parametrize("owners", [(), ("uid-of-another",)])
@pytest.mark.parametrize("kind", ["Pod", "Service", "ConfigMap", "StatefulSet"])
def test_apply_of_a_name_that_another_has_touches_nothing(
    kind: str, owners: tuple[str, ...]
) -> None:
    rest = existing(kind, *owners)
    with pytest.raises(NameTakenError, match=f"{kind} p exists already and does not belong"):
        ApiCluster(rest, "ns").apply({**POD, "kind": kind})
    assert rest.calls == ["POST", "GET"]


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
