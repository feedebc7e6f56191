"""The command line and the log of the controller."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from krt_operator import __main__ as program
from krt_operator.app.assembly import Assembly
from krt_operator.errors import ConflictError, RefusedError, TransientError


@pytest.mark.parametrize(
    ("message", "level"),
    [
        ("Request attempt #1/9 failed; will retry: GET /apis -> 429", logging.WARNING),
        ("Request attempt #9/9 failed; escalating: GET /apis -> 429", logging.ERROR),
        ("Handler 'release' failed temporarily: pod a-reader-0 still runs", logging.WARNING),
        (
            "Handler 'release' failed temporarily but will time out after 120.0 seconds: no answer",
            logging.WARNING,
        ),
        ("Handler 'follow' failed with an exception. Will ignore.", logging.ERROR),
    ],
)
def test_lower_retries_of_kopf_request_sets_level(message: str, level: int) -> None:
    record = logging.LogRecord("kopf", logging.ERROR, "f", 1, message, None, None)
    assert program._lower_retries(record)  # noqa: SLF001 - the filter main() installs
    assert (record.levelno, record.levelname) == (level, logging.getLevelName(level))


class Cluster:
    """Tests of a namespace, of which `a` has the controller's finalizer.

    Attributes:
        failures: what removing the finalizer of a test fails with.
    """

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.failures: dict[str, Exception] = {}
        self.unlisted: Exception | None = None

    def list(self, kind: str) -> list[dict[str, dict[str, str]]]:
        assert kind == "KafkaResilienceTest"
        if self.unlisted is not None:
            raise self.unlisted
        return [{"metadata": {"namespace": "ns", "name": name}} for name in ("a", "b")]

    def remove_finalizers(self, name: str) -> bool:
        self.removed.append(name)
        if name in self.failures:
            raise self.failures[name]
        return name == "a"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The cluster that the command sees."""
    for image in ("TRAFFIC", "SCORING", "KAFKA"):
        monkeypatch.setenv(f"KRT_IMAGE_{image}", "image:1")
    found = Cluster()
    assembled = SimpleNamespace(cluster=lambda _namespace: found)
    monkeypatch.setattr(Assembly, "on_api_server", lambda _settings: assembled)
    return found


def test_main_remove_finalizers_removes_those_of_every_test(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["remove-finalizers"]) == 0
    assert cluster.removed == ["a", "b"]
    assert capsys.readouterr().out == "removed the finalizer of ns/a\n"


@pytest.mark.parametrize(
    "error",
    [ConflictError("HTTP 409"), RefusedError("HTTP 403"), TransientError("HTTP 503")],
)
def test_main_remove_finalizers_that_fails_for_one_goes_on_and_names_it(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    cluster.failures["a"] = error
    assert program.main(["remove-finalizers"]) == 1
    assert cluster.removed == ["a", "b"]
    shown = capsys.readouterr().err
    assert f"finalizers remain: ns/a: {error}" in shown
    assert "ns/b" not in shown
    assert "kubectl patch krt NAME" in shown


def test_main_remove_finalizers_of_tests_that_cannot_be_listed_fails(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.unlisted = TransientError("HTTP 404")
    assert program.main(["remove-finalizers"]) == 1
    assert "all namespaces: not listed: HTTP 404" in capsys.readouterr().err


def test_main_without_settings_names_the_chart_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KRT_IMAGE_TRAFFIC", raising=False)
    assert program.main(["remove-finalizers"]) == program.USAGE_ERROR
    assert "set the chart value images.traffic" in capsys.readouterr().err
