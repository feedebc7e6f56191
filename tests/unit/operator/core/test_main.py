"""The command line and the log of the controller."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from krt_operator import __main__ as program
from krt_operator.app.assembly import Assembly


@pytest.mark.parametrize(
    ("message", "level"),
    [
        ("Request attempt #1/9 failed; will retry: GET /apis -> 429", logging.WARNING),
        ("Request attempt #9/9 failed; escalating: GET /apis -> 429", logging.ERROR),
    ],
)
def test_lower_retries_of_kopf_request_sets_level(message: str, level: int) -> None:
    record = logging.LogRecord("kopf", logging.ERROR, "f", 1, message, None, None)
    assert program._lower_retries(record)  # noqa: SLF001 - the filter main() installs
    assert (record.levelno, record.levelname) == (level, logging.getLevelName(level))


class Cluster:
    """Tests of two namespaces, some of which have the controller's finalizer."""

    def __init__(self) -> None:
        self.removed: list[str] = []

    def tests(self) -> list[dict[str, dict[str, str]]]:
        return [{"metadata": {"namespace": "ns", "name": name}} for name in ("a", "b")]

    def remove_finalizers(self, name: str) -> bool:
        self.removed.append(name)
        return name == "a"


def test_main_remove_finalizers_removes_those_of_every_test(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for image in ("TRAFFIC", "SCORING", "KAFKA"):
        monkeypatch.setenv(f"KRT_IMAGE_{image}", "image:1")
    cluster = Cluster()
    assembled = SimpleNamespace(cluster=lambda _namespace: cluster)
    monkeypatch.setattr(Assembly, "on_api_server", lambda _settings: assembled)
    assert program.main(["remove-finalizers"]) == 0
    assert cluster.removed == ["a", "b"]
    assert capsys.readouterr().out == "removed the finalizer of ns/a\n"


def test_main_without_settings_names_the_chart_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KRT_IMAGE_TRAFFIC", raising=False)
    assert program.main(["remove-finalizers"]) == program.USAGE_ERROR
    assert "set the chart value images.traffic" in capsys.readouterr().err
