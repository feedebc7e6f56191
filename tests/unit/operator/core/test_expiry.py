"""A finished test goes when its time has gone by, and not before."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from krt_operator.app import handlers
from krt_operator.app.expiry import Sweeper, expired
from krt_operator.app.metrics import Metrics
from krt_operator.app.passes import Passes
from krt_operator.errors import RefusedError, TransientError
from krt_operator.kubernetes.rest import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_operator.engine.progress import Deletion

NOW = datetime(2026, 11, 21, 4, 0, 10, tzinfo=UTC)


def _test(ttl: int | None, phase: str = "Completed") -> Any:
    spec = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    status = {"phase": phase, "completionTime": "2026-11-21T04:00:00.000000Z"}
    return {"metadata": {"name": "t", "uid": "u"}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("test", "goes"),
    [
        (_test(10), True),
        (_test(0), True),
        (_test(11), False),
        (_test(None), False),
        (_test(0, "CleaningUp"), False),
        ({"metadata": {"name": "t", "uid": "u"}, "spec": {"ttlSecondsAfterFinished": 0}}, False),
    ],
)
def test_expired_after_its_ttl_returns_the_deletion(test: Any, goes: bool) -> None:
    found = expired(test, NOW)
    assert (found is not None) is goes
    if found is not None:
        assert (found.name, found.uid) == ("t", "u")


class Api:
    """Two namespaces of finished tests, calls to which may fail.

    Attributes:
        failures: what deleting the test of a name fails with.
        unlisted: namespaces whose tests cannot be listed, with the error.
    """

    def __init__(self, *tests: Any) -> None:
        self.tests = {test["metadata"]["name"]: test for test in tests}
        self.failures: dict[str, Exception] = {}
        self.unlisted: dict[str, Exception] = {}
        self.event_failure: Exception | None = None
        self.events: list[Any] = []
        self.metrics = Metrics()
        self.sweeper = Sweeper(lambda name: Bound(self, name), ("a", "b"), self, self.metrics)

    def now(self) -> datetime:
        return NOW

    def counted(self, reason: str) -> float:
        value = self.metrics.registry.get_sample_value(
            "krt_expiry_errors_total", {"reason": reason}
        )
        return value or 0.0


class Bound:
    """The API server, bound to a namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace = api, namespace

    def list(self, kind: str, labels: Mapping[str, str] | None = None) -> Sequence[Any]:
        assert (kind, labels) == ("KafkaResilienceTest", None)
        if self.namespace in self.api.unlisted:
            raise self.api.unlisted[self.namespace]
        found = self.api.tests.values()
        return [test for test in found if test["metadata"]["namespace"] == self.namespace]

    def delete(self, deletion: Deletion) -> bool:
        if deletion.name in self.api.failures:
            raise self.api.failures[deletion.name]
        return self.api.tests.pop(deletion.name, None) is not None

    def emit(self, event: Any) -> None:
        if self.api.event_failure is not None:
            raise self.api.event_failure
        self.api.events.append(event)


def _in_namespace(namespace: str, name: str, **changes: Any) -> Any:
    test = _test(0)
    test["metadata"] = {"name": name, "uid": f"uid-{name}", "namespace": namespace}
    return test | changes


NOT_FOUND = NotFoundError("GET /apis: HTTP 404: the server could not find the resource")


@pytest.mark.parametrize(
    "error",
    [
        NOT_FOUND,
        RefusedError("DELETE: HTTP 403: denied"),
        TransientError("HTTP 503"),
        KeyError("metadata"),
    ],
)
def test_sweep_with_a_test_that_cannot_be_deleted_deletes_those_behind_it(
    error: Exception,
) -> None:
    api = Api(*(_in_namespace("a", name) for name in ("first", "second", "third")))
    api.failures["first"] = error
    api.sweeper.sweep()
    assert set(api.tests) == {"first"}
    assert api.counted(type(error).__name__) == 1


@pytest.mark.parametrize("error", [NOT_FOUND, RefusedError("HTTP 403"), OSError("reset")])
def test_sweep_with_a_namespace_that_cannot_be_listed_goes_on_with_the_next(
    error: Exception,
) -> None:
    api = Api(_in_namespace("a", "first"), _in_namespace("b", "second"))
    api.unlisted["a"] = error
    api.sweeper.sweep()
    assert set(api.tests) == {"first"}
    assert api.counted(type(error).__name__) == 1
    del api.unlisted["a"]
    api.sweeper.sweep()
    assert api.tests == {}


def test_sweep_with_a_malformed_test_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    status = {"phase": "Completed", "completionTime": "yesterday"}
    api = Api(_in_namespace("a", "odd", status=status), _in_namespace("a", "second"))
    api.sweeper.sweep()
    assert set(api.tests) == {"odd"}
    assert "a/odd: not deleted" in caplog.text


def test_sweep_with_a_failure_that_lasts_emits_one_event_with_the_remedy() -> None:
    api = Api(_in_namespace("a", "first"))
    api.failures["first"] = RefusedError("DELETE: HTTP 403: denied by policy")
    api.sweeper.sweep()
    assert api.events == [], "one failure may be over by the next sweep"
    for _ in range(3):
        api.sweeper.sweep()
    (event,) = api.events
    assert (event["reason"], event["type"]) == ("ExpiryFailed", "Warning")
    assert event["involvedObject"]["uid"] == "uid-first"
    assert "denied by policy" in event["message"]
    assert "kubectl delete krt first -n a" in event["message"]
    assert api.counted("RefusedError") == 4
    api.failures.clear()
    api.sweeper.sweep()
    assert api.tests == {}


def test_sweep_whose_event_fails_emits_it_at_the_next_sweep() -> None:
    api = Api(_in_namespace("a", "first"))
    api.failures["first"] = RefusedError("denied")
    api.event_failure = TransientError("HTTP 429")
    for _ in range(3):
        api.sweeper.sweep()
    api.event_failure = None
    api.sweeper.sweep()
    assert [event["reason"] for event in api.events] == ["ExpiryFailed"]


def test_sweep_task_survives_whatever_a_sweep_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps = 0

    def sweep() -> None:
        nonlocal sweeps
        sweeps += 1
        if sweeps < 3:
            raise RuntimeError("a defect")
        raise asyncio.CancelledError

    metrics = Metrics()
    assembly: Any = SimpleNamespace(sweeper=lambda: SimpleNamespace(sweep=sweep), metrics=metrics)
    monkeypatch.setattr(handlers, "SWEEP", 0)
    monkeypatch.setitem(handlers._memory, "passes", Passes(1))  # noqa: SLF001 - what start() fills
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(handlers._sweep(assembly))  # noqa: SLF001 - the task of start()
    assert sweeps == 3


@pytest.mark.parametrize("phase", ["Resting", None])
def test_expired_with_a_phase_of_another_release_returns_none(phase: str | None) -> None:
    test = _test(0)
    test["status"]["phase"] = phase
    assert expired(test, NOW) is None


def test_sweep_counts_the_tests_of_all_namespaces_unless_one_cannot_be_listed() -> None:
    def pending() -> float | None:
        return api.metrics.registry.get_sample_value("krt_tests_unfinished", {"phase": "Pending"})

    waits = {"status": {"phase": "Pending"}}
    api = Api(_in_namespace("a", "first", **waits), _in_namespace("b", "second", **waits))
    api.sweeper.sweep()
    assert pending() == 2
    api.unlisted["a"] = OSError("reset")
    api.sweeper.sweep()
    assert pending() == 2
