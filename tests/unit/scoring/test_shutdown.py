"""Ending a Spark session together with its JVM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark import SparkContext

from krt_scoring.engine import shutdown


@pytest.mark.parametrize("started_here", [True, False])
def test_stop_ends_the_jvm_that_this_process_started(
    monkeypatch: pytest.MonkeyPatch, *, started_here: bool
) -> None:
    done: list[Any] = []
    process = SimpleNamespace(
        stdin=SimpleNamespace(close=lambda: done.append("closed")), wait=done.append
    )
    gateway = SimpleNamespace(
        shutdown=lambda: done.append("gateway"), proc=process if started_here else None
    )
    monkeypatch.setattr(SparkContext, "_gateway", gateway)
    monkeypatch.setattr(SparkContext, "_jvm", "jvm")
    session = SimpleNamespace(stop=lambda: done.append("stopped"))
    shutdown.stop(cast("Any", session))
    ended = ["gateway", "closed", shutdown.PATIENCE_S] if started_here else []
    assert done == ["stopped", *ended]
    assert (SparkContext._gateway is None) is started_here  # noqa: SLF001 (what it sets)
