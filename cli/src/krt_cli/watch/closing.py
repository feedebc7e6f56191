"""The closing lines of a test: phases, ledger, expectations, verdict, evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_cli.places import local_bundles
from krt_cli.resource import Test, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LABEL = 14
"""Width of the labels."""


def closing(test: Test, evidence: Path | None) -> Iterator[tuple[str, str]]:
    """Yield (label, text) of the closing lines.

    Args:
        test: the test at its end.
        evidence: the folder on this machine that holds the evidence volumes; None where there is
            none.
    """
    status = test.status
    durations = [
        f"{phase['name']} {took:.0f} s"
        for phase in test.phases
        if (took := seconds(phase.get("startTime"), phase.get("endTime"))) is not None
    ]
    yield "phases", ", ".join(durations)
    total = seconds(test.created, status.get("completionTime"))
    if total is not None:
        yield "total", f"{total:.0f} s from creation to the end"
    ledger = status.get("ledger") or {}
    if ledger:
        yield "ledger", ", ".join(f"{name} {count}" for name, count in ledger.items())
    self_test = status.get("selfTest")
    if self_test:
        yield "self-test", f"{self_test['detected']} of {self_test['total']} corruptions detected"
    for reason in status.get("inconclusiveReasons", []):
        yield "inconclusive", f"{reason['code']}: {reason['message']}"
    results = status.get("expectationResults")
    if results:
        yield "expectations", _expectations(results)
    yield "verdict", f"{status.get('verdict')}, score {status.get('score', 'none')}"
    yield "", str(status.get("summary", ""))
    yield from _evidence(test, evidence)


def _expectations(results: dict[str, Any]) -> str:
    others = {"not met": results.get("notMet"), "not evaluated": results.get("notEvaluated")}
    parts = [f"{results['met']} met"]
    parts += [f"{what}: {', '.join(names)}" for what, names in others.items() if names]
    return "; ".join(parts)


def _evidence(test: Test, evidence: Path | None) -> Iterator[tuple[str, str]]:
    """Yield where the evidence lies on this machine, else how to copy it."""
    bundles = local_bundles(test, evidence)
    namespace, name, _ = test.identity
    which = f"{name} --namespace {namespace}"
    for bundle in bundles:
        yield "evidence", str(bundle)
        if test.scored:
            yield "report", str(bundle / "report.html")
    report = test.status.get("report") or {}
    if not bundles and report.get("path"):
        yield "evidence", f"krt evidence {which} -o {name}"
        if test.scored:
            yield "report", f"krt report {which} --open"
    if not bundles and report.get("configMap"):
        yield "scorecard", f"configmap/{report['configMap']}"
    if test.status.get("verdict") != "Passed":
        yield "why", f"krt explain {which}"
