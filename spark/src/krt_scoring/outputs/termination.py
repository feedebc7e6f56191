"""The driver's termination message: what the controller puts into the test's status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from krt_scoring.outputs.severity import by_severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_BYTES = 2048
"""Bytes of the message; the kubelet keeps 4096."""

LEAST_SUMMARY = 400
"""Bytes of the summary that are left before anything else is left out."""

MAX_CODES = 8
"""Codes of inconclusive reasons that are named where not all of them fit."""

OPTIONAL = ("expectationResults", "topAnomaly", "inconclusiveReasons", "ledger", "selfTest")
"""What is left out, in this order, where it does not fit; all of it is in the scorecard."""

MAX_EXPECTATIONS, MAX_NAME = 5, 80
"""Expectations that the message names, and characters of each."""


def message(card: Mapping[str, Any]) -> str:
    """Return the termination message: verdict, score, summary, ledger, the anomaly to name first.

    And the results of expectations and self-test, where the run had them. It is valid JSON of at
    most MAX_BYTES whatever the card holds, and the verdict is always in it, first.
    """
    document: dict[str, Any] = {
        "verdict": card["verdict"],
        "score": card.get("score"),
        "summary": card["summary"],
        "ledger": dict(sorted(card.get("ledger", {}).items())),
        "inconclusiveReasons": sorted({reason["code"] for reason in card["inconclusiveReasons"]}),
        "topAnomaly": _top_anomaly(card),
    }
    results = card.get("expectationResults")
    if results:
        document["expectationResults"] = count_results(results)
    tested = card.get("selfTest")
    if tested:
        document["selfTest"] = {name: tested[name] for name in ("detected", "total")}
    _shorten_summary(document, LEAST_SUMMARY)
    codes = document["inconclusiveReasons"]
    if _excess(document) and len(codes) > MAX_CODES:
        more = f"and {len(codes) - MAX_CODES} more"
        document["inconclusiveReasons"] = [*codes[:MAX_CODES], more]
    for name in OPTIONAL:
        if _excess(document):
            document.pop(name, None)
    _shorten_summary(document, 0)
    return _dump(document)


def cut(text: str) -> str:
    """Return as much of a text as fits into a termination message."""
    return _encodable(text).encode()[:MAX_BYTES].decode(errors="ignore")


def _shorten_summary(document: dict[str, Any], least: int) -> None:
    """Shorten the summary until the document fits, but to no less than ``least`` bytes of JSON."""
    excess = _excess(document)
    if not excess:
        return
    summary = document["summary"]
    allowed = max(least, len(_dump(summary).encode()) - excess)
    # JSON writes some characters with up to six bytes: look for the longest text that fits.
    low, high = 0, len(summary)
    while low < high:
        middle = (low + high + 1) // 2
        if len(_dump(summary[:middle]).encode()) <= allowed:
            low = middle
        else:
            high = middle - 1
    document["summary"] = summary[:low]


def _excess(document: Mapping[str, Any]) -> int:
    return max(0, len(_dump(document).encode()) - MAX_BYTES)


def _dump(value: Any) -> str:
    return _encodable(json.dumps(value, ensure_ascii=False))


def _encodable(text: str) -> str:
    """Return a text with what UTF-8 cannot encode replaced by question marks."""
    return text.encode(errors="replace").decode()


def _top_anomaly(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """The anomaly to name first, as in the report."""
    names = by_severity(card.get("anomalies", {}))
    if not names:
        return None
    name = names[0]
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
