"""The driver's termination message: what the controller puts into the test's status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_BYTES = 2048
"""Bytes of the message; the kubelet keeps 4096."""

MAX_EXPECTATIONS, MAX_NAME = 5, 80
"""Expectations that the message names, and characters of each."""


def message(card: Mapping[str, Any]) -> str:
    """Return the termination message: verdict, score, summary, ledger, the anomaly to name first.

    And the results of expectations and self-test, where the run had them.
    """
    document: dict[str, Any] = {
        "verdict": card["verdict"],
        "score": card.get("score"),
        "summary": card["summary"],
        "ledger": card.get("ledger", {}),
        "inconclusiveReasons": sorted({reason["code"] for reason in card["inconclusiveReasons"]}),
        "topAnomaly": _top_anomaly(card),
    }
    results = card.get("expectationResults")
    if results:
        document["expectationResults"] = count_results(results)
    tested = card.get("selfTest")
    if tested:
        document["selfTest"] = {name: tested[name] for name in ("detected", "total")}
    text = _dump(document)
    excess = len(text.encode()) - MAX_BYTES
    if excess > 0:
        document["summary"] = document["summary"].encode()[: -excess - 1].decode(errors="ignore")
        text = _dump(document)
    return text


def _dump(document: Mapping[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, ensure_ascii=False)


def _top_anomaly(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """The anomaly to name first: violations before what is permitted, the larger count first."""
    found = [
        (item["class"] != "Violation", -item["count"], name)
        for name, item in card.get("anomalies", {}).items()
        if item["count"]
    ]
    if not found:
        return None
    name = min(found)[2]
    item = card["anomalies"][name]
    return {"anomaly": name, "class": item["class"], "count": item["count"]}


def count_results(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many expectations were met, and the first that were not.

    Args:
        results: ``expectationResults`` of the scorecard.
    """
    names: dict[str, list[str]] = {"Met": [], "NotMet": [], "NotEvaluated": []}
    for item in results:
        names[item["result"]].append(item["expectation"])
    return {
        "met": len(names["Met"]),
        "notMet": _first(names["NotMet"]),
        "notEvaluated": _first(names["NotEvaluated"]),
    }


def _first(names: list[str]) -> list[str]:
    left_out = len(names) - MAX_EXPECTATIONS
    more = [f"and {left_out} more"] if left_out > 0 else []
    return [name[:MAX_NAME] for name in names[:MAX_EXPECTATIONS]] + more
