"""Lists tests."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from krt_cli.resource import Test, seconds

if TYPE_CHECKING:
    from rich.console import Console

    from krt_cli.kubectl import Kubectl

MINUTE = 60
"""Seconds."""


def list_tests(kubectl: Kubectl, console: Console, *, everywhere: bool, as_json: bool) -> None:
    """Print the tests of a namespace, or of all, the latest first.

    Args:
        kubectl: bound to a namespace.
        console: where the table goes.
        everywhere: the tests of all namespaces.
        as_json: print what the table holds as JSON, for programs.
    """
    scope = ("--all-namespaces",) if everywhere else ()
    tests = [Test(item) for item in kubectl.get("krt", *scope)["items"]]
    tests.sort(key=lambda test: test.created, reverse=True)
    rows = [row(test, datetime.now(UTC)) for test in tests]
    if as_json:
        console.print(json.dumps(rows, indent=2), markup=False)
        return
    if not rows:
        place = "any namespace" if everywhere else f"namespace {kubectl.namespace or 'default'}"
        console.print(f"no KafkaResilienceTest in {place}")
        return
    # As kubectl prints tables: no wider than needed, never cut; the last column is not padded.
    cells = [COLUMNS, *(_cells(item) for item in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        padded = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
        console.print("  ".join(padded).rstrip(), markup=False)


COLUMNS = ("NAMESPACE", "NAME", "PHASE", "VERDICT", "SCORE", "LOST", "TOOK", "SUMMARY")


def _cells(item: dict[str, Any]) -> tuple[str, ...]:
    return (
        item["namespace"],
        item["name"],
        item["phase"],
        item["verdict"] or "-",
        _number(item["score"]),
        _number(item["lost"]),
        _duration(item["seconds"]),
        item["summary"],
    )


def row(test: Test, now: datetime) -> dict[str, Any]:
    """Return what is listed of a test.

    Args:
        test: the test.
        now: the present time, for a test that is still running.
    """
    namespace, name, uid = test.identity
    status = test.status
    verdict = status.get("verdict")
    return {
        "namespace": namespace,
        "name": name,
        "uid": uid,
        "phase": status.get("phase", "Pending"),
        "verdict": None if verdict == "Pending" else verdict,
        "score": status.get("score"),
        "lost": (status.get("ledger") or {}).get("lost"),
        "created": test.created,
        "seconds": seconds(test.created, status.get("completionTime") or now.isoformat()),
        "summary": str(status.get("summary", "")),
    }


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _duration(value: float | None) -> str:
    if value is None:
        return "-"
    minutes, rest = divmod(round(value), MINUTE)
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"
