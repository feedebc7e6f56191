"""Follows one KafkaResilienceTest to its end and says what happens, a line at a time.

Reads the documents of ``kubectl get krt NAME --watch -o json`` from standard input (hack/follow
gives them), prints each
phase, fault and condition as it changes, then the verdict and where the evidence lies. Exits 0
when the verdict is Passed, 1 when it is another, 2 when the watch ended before the test did.
Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

TERMINAL = ("Completed", "Error", "Aborted")
"""Phases after which nothing moves."""


def documents(stream: TextIO) -> Iterator[dict[str, Any]]:
    """Yield each JSON document of a stream of concatenated documents as soon as it is whole."""
    lines: list[str] = []
    for line in stream:
        lines.append(line)
        if line.rstrip("\n") == "}":  # kubectl indents, so only a document's end stands here
            yield json.loads("".join(lines))
            lines.clear()


def parse_time(text: str) -> datetime:
    """Return a Kubernetes time stamp as a datetime."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))  # noqa: FURB162 - python3 of macOS is 3.9


def seconds(start: str | None, end: str | None) -> float | None:
    """Return the seconds between two time stamps, or None while one is missing."""
    return (parse_time(end) - parse_time(start)).total_seconds() if start and end else None


class Narrator:
    """Turns successive states of one test into lines, each said once."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()
        self._origin: str | None = None

    def lines(self, test: dict[str, Any]) -> Iterator[str]:
        """Yield what is new in ``test``, oldest first."""
        status = test.get("status", {})
        self._origin = self._origin or test["metadata"]["creationTimestamp"]
        news = [
            *self._phases(status.get("phases", [])),
            *self._faults(status.get("faults", [])),
            *self._conditions(status.get("conditions", [])),
        ]
        for at, text in sorted(news):
            # By its time too: a condition that comes back comes back with the same words.
            if (at, text) not in self._said:
                self._said.add((at, text))
                yield f"{seconds(self._origin, at) or 0.0:7.1f} s  {text}"

    def _phases(self, phases: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        for phase in phases:
            if phase.get("startTime"):
                yield phase["startTime"], f"phase {phase['name']}"

    def _faults(self, faults: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        for fault in faults:
            where = ", ".join(
                f"{target['member']} ({target.get('zone') or target.get('node') or '?'})"
                for target in fault.get("targets", [])
            )
            for moment in ("injectedAt", "revertedAt", "recoveredAt"):
                if fault.get(moment):
                    what = moment.removesuffix("At")
                    yield fault[moment], f"fault {fault['name']} {what}: {where}"
            yield from _proofs(fault)

    def _conditions(self, conditions: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        for condition in conditions:
            if condition["status"] == "Unknown":
                continue
            said = f"{condition['type']}={condition['status']} {condition.get('reason', '')}"
            message = condition.get("message", "")
            yield condition["lastTransitionTime"], f"  {said}{': ' + message if message else ''}"


def _proofs(fault: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each kind of proof of one moment as one line, the user's topics before Kafka's own."""
    found: dict[tuple[str, str], list[str]] = {}
    for proof in fault.get("observations", []):
        at = proof.get("at") or fault["injectedAt"]
        said = f"{proof['subject']} {proof.get('detail', '')}".strip()
        found.setdefault((at, proof["kind"]), []).append(said)
    for (at, kind), subjects in found.items():
        first, *rest = sorted(subjects, key=lambda subject: (subject.startswith("__"), subject))
        more = f" (and {len(rest)} more)" if rest else ""
        yield at, f"  proof {kind}: {first}{more}"


def closing(test: dict[str, Any], evidence: Path) -> Iterator[str]:
    """Yield the closing lines: how long each phase took, ledger, verdict, evidence."""
    status, meta = test["status"], test["metadata"]
    yield ""
    spent = [
        f"{phase['name']} {took:.0f} s"
        for phase in status.get("phases", [])
        if (took := seconds(phase.get("startTime"), phase.get("endTime"))) is not None
    ]
    yield "phases    " + ", ".join(spent)
    total = seconds(meta["creationTimestamp"], status.get("completionTime"))
    if total is not None:
        yield f"in all    {total:.0f} s from apply to the end"
    ledger = status.get("ledger") or {}
    if ledger:
        yield "ledger    " + ", ".join(f"{name} {count}" for name, count in ledger.items())
    detector = status.get("selfTest")
    if detector:
        yield f"detector  {detector['detected']} of {detector['total']} corruptions detected"
    for guard in status.get("inconclusiveReasons", []):
        yield f"guard     {guard['code']}: {guard['message']}"
    claims = status.get("expectationResults")
    if claims:
        wrong = {"not met": claims.get("notMet"), "not evaluated": claims.get("notEvaluated")}
        told = [f"{claims['met']} met"]
        told += [f"{what}: {', '.join(names)}" for what, names in wrong.items() if names]
        yield "claims    " + "; ".join(told)
    yield f"verdict   {status.get('verdict')}, score {status.get('score', 'none')}"
    yield f"          {status.get('summary', '')}"
    tail = Path(meta["namespace"]) / meta["name"] / meta["uid"]
    homes = sorted(evidence.glob(f"*/{tail}")) or sorted(evidence.glob(str(tail)))
    for home in homes:
        yield f"evidence  {home}"
        yield f"report    {home / 'report.html'}"


def main(evidence: str) -> int:
    """Follow the test on standard input; see the module's text for the exit codes."""
    narrator = Narrator()
    for test in documents(sys.stdin):
        for line in narrator.lines(test):
            print(line, flush=True)
        finished = [
            condition["status"]
            for condition in test.get("status", {}).get("conditions", [])
            if condition["type"] == "Finished"
        ]
        if finished == ["True"] and test["status"].get("phase") in TERMINAL:
            for line in closing(test, Path(evidence)):
                print(line, flush=True)
            return 0 if test["status"].get("verdict") == "Passed" else 1
    print("the watch ended before the test did; kubectl get krt tells where it stands")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
