"""``krt explain``: why a test has its verdict, and what to do next, in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from krt_cli.advice import VERDICT_WORDS, Advice, conditions, expectations, findings, reasons
from krt_cli.errors import KubectlError
from krt_cli.resource import ERROR, Test

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from krt_cli.kubectl import Kubectl

INDENT: Final = "    "


def explain(kubectl: Kubectl, name: str, console: Console, *, as_json: bool) -> None:
    """Print why a test has its verdict, and what to do next.

    Args:
        kubectl: bound to the namespace of the test.
        name: of the test.
        console: where the lines go.
        as_json: print it as JSON, for programs.

    Raises:
        KubectlError: the test cannot be read.
    """
    test = Test(kubectl.get("krt", name))
    card = scorecard(kubectl, test)
    found = [*conditions(test), *reasons(test, card), *findings(card), *expectations(card)]
    status = test.status
    verdict = str(status.get("verdict") or "Pending")
    following = list(_next(test, found))
    if as_json:
        document = {
            "name": name,
            "phase": status.get("phase", "Pending"),
            "verdict": None if verdict == "Pending" else verdict,
            "score": status.get("score"),
            "summary": status.get("summary", ""),
            "causes": [item.document() for item in found],
            "next": following,
        }
        console.print(json.dumps(document, indent=2), markup=False)
        return
    for line in _lines(test, verdict, found, following):
        console.print(line, markup=False)


def scorecard(kubectl: Kubectl, test: Test) -> dict[str, Any]:
    """Return the scorecard of a test as its ConfigMap holds it; empty where there is none."""
    name = (test.status.get("report") or {}).get("configMap")
    if not name:
        return {}
    try:
        found = kubectl.get("configmap", name)
        card: dict[str, Any] = json.loads(found["data"]["scorecard.json"])
    except (KubectlError, KeyError, ValueError):
        return {}
    return card


def _lines(test: Test, verdict: str, found: list[Advice], following: list[str]) -> Iterator[str]:
    status, name = test.status, test.identity[1]
    phase = status.get("phase", "Pending")
    score = status.get("score")
    points = "" if score is None else f", score {score}"
    yield f"{name}: {phase}, {verdict}{points}"
    if status.get("summary"):
        yield str(status["summary"])
    yield ""
    yield (
        VERDICT_WORDS.get(verdict, "")
        if test.finished
        else (f"The test is running: phase {phase}.")
    )
    for item in found:
        yield ""
        yield f"{item.title}: {item.what}" if item.what else item.title
        if item.meaning:
            yield f"{INDENT}{item.meaning}"
        if item.remedy:
            yield f"{INDENT}what to do: {item.remedy}"
    yield ""
    yield "next:"
    for command in following:
        yield f"{INDENT}{command}"


def _next(test: Test, found: list[Advice]) -> Iterator[str]:
    """Yield the commands that help now."""
    namespace, name, _ = test.identity
    where = f"--namespace {namespace}"
    status = test.status
    if not test.finished:
        yield f"krt watch {name} {where}"
        return
    if status.get("phase") == ERROR:
        yield f"kubectl describe krt/{name} {where}"
        yield f"krt doctor FILE {where}, with the file of the test"
        yield f"krt run FILE {where} --replace, once the cause is removed"
        return
    if (status.get("report") or {}).get("path"):
        if test.scored:
            yield f"krt report {name} {where} --open"
        if status.get("verdict") != "Passed" or found:
            yield f"krt evidence {name} {where} -o {name}-evidence"
    if status.get("verdict") == "Inconclusive":
        yield f"krt run FILE {where} --replace, once the cause is removed"
