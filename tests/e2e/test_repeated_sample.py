"""The sample again and again: its verdict must not depend on luck."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from kit.run import Run, manifest

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.alone]

TIMES = int(os.environ.get("KRT_E2E_SAMPLES", "10"))
"""How often; what the README promises is ten in ten."""


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def _durations(run: Run) -> str:
    """Return the seconds of each phase, and from apply to the end."""
    status = run.status
    phases = " ".join(
        f"{phase['name']} {_seconds(phase['startTime'], phase['endTime']):.0f}"
        for phase in status["phases"]
        if phase.get("endTime")
    )
    applied = run.kubectl.get("krt", run.name)["metadata"]["creationTimestamp"]
    total = _seconds(applied, status["completionTime"])
    return f"{run.name}: {status['verdict']} {status.get('score')}; {total:.0f} s: {phases}"


def test_repeated_sample_passes_every_time(
    kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    others: list[dict[str, Any]] = []
    for number in range(TIMES):
        run = Run.apply(kubectl, manifest("manifests/sample.yaml", f"sample-{number}"))
        status = run.finish()
        lines.append(_durations(run))
        with capsys.disabled():
            print(f"\n{lines[-1]}", end="")  # noqa: T201 - the times are what a person looks for
        if status["verdict"] != "Passed":
            others.append(status)
        kubectl("delete", "krt", run.name, "--wait", "--timeout=120s", timeout=130)
    assert not others, "\n".join([*lines, str(others)])
