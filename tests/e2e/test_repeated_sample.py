"""The sample again and again: its verdict must not depend on luck, nor on where its evidence lies.

Its evidence is in a claim and in the object store by turns, so that the two can be compared.
"""

from __future__ import annotations

import os
from datetime import datetime
from itertools import cycle, islice
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import pytest
from kit.run import Run, manifest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.alone]

TIMES = int(os.environ.get("KRT_E2E_SAMPLES", "10"))
"""How often; what the README promises is ten in ten."""

PLACES: Final[dict[str, dict[str, Any]]] = {
    "claim": {"claimName": "krt-evidence"},
    "object store": {"objectStore": {}},
}
"""Where the evidence goes by turns → ``spec.evidence``."""

TOTAL: Final = "from apply to the end"


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def _durations(run: Run) -> dict[str, float]:
    """Return the seconds of each phase, and from apply to the end."""
    status = run.status
    applied = run.kubectl.get("krt", run.name)["metadata"]["creationTimestamp"]
    phases = {
        phase["name"]: _seconds(phase["startTime"], phase["endTime"])
        for phase in status["phases"]
        if phase.get("endTime")
    }
    return {TOTAL: _seconds(applied, status["completionTime"]), **phases}


def _table(measured: Mapping[str, list[dict[str, float]]]) -> str:
    """Return least, median and greatest seconds of each phase, by place of the evidence."""
    lines = []
    for phase in (TOTAL, *(name for name in next(iter(measured.values()))[0] if name != TOTAL)):
        cells = []
        for place, runs in measured.items():
            seconds = [durations[phase] for durations in runs if phase in durations]
            spread = f"{min(seconds):.1f} / {median(seconds):.1f} / {max(seconds):.1f} s"
            cells.append(f"{place} {spread} (n = {len(seconds)})")
        lines.append(f"{phase}: {', '.join(cells)}")
    return "\n".join(lines)


def test_repeated_sample_passes_every_time(
    kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    measured: dict[str, list[dict[str, float]]] = {}
    others: list[dict[str, Any]] = []
    for number, (place, evidence) in enumerate(islice(cycle(PLACES.items()), TIMES)):
        resource = manifest("manifests/sample.yaml", f"sample-{number}")
        resource["spec"]["evidence"] = evidence
        run = Run.apply(kubectl, resource)
        status = run.finish()
        durations = _durations(run)
        measured.setdefault(place, []).append(durations)
        phases = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in durations.items())
        lines.append(f"{run.name}, {place}: {status['verdict']} {status.get('score')}; {phases}")
        with capsys.disabled():
            print(f"\n{lines[-1]}", end="")  # noqa: T201 - the times are what a person looks for
        if status["verdict"] != "Passed":
            others.append(status)
        kubectl("delete", "krt", run.name, "--wait", "--timeout=120s", timeout=130)
    with capsys.disabled():
        print(f"\nleast / median / greatest\n{_table(measured)}")  # noqa: T201 - see above
    assert not others, "\n".join([*lines, str(others)])
