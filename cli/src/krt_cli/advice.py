"""What explains a verdict: conditions, inconclusive reasons, anomalies, objectives, expectations.

Meanings and remedies of reasons come from the table that the controller uses, too.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from krt_contract.durations import show as show_duration
from krt_contract.reasons import REASONS, SCORING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krt_cli.resource import Test

VERDICT_WORDS: Final = {
    "Passed": "No violation was found, every objective is met, and every fault was verified.",
    "Degraded": "No violation was found, but an objective is missed. Where records were lost, the "
    "configuration of the test permits it.",
    "Failed": "A violation was found on intact evidence: something happened that the configuration "
    "does not permit.",
    "Inconclusive": "The evidence supports no verdict. This says nothing about Kafka: remove the "
    "causes below and run the test again.",
    "Pending": "The test ended without a verdict.",
}

PROGRESS_CONDITIONS: Final = ("Finished", "Succeeded", "ExpectationsMet", "Scored")
"""Conditions whose causes are given elsewhere."""

MICROSECONDS: Final = "us"
"""Unit of durations in the scorecard."""


LOSSES: Final = frozenset({"lost-write", "vanished-read", "accepted-below-min-isr", "unseen"})
"""Anomalies that are named first: what is lost, or was not delivered."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One cause of a verdict.

    Attributes:
        kind: Condition, InconclusiveReason, Violation, Void, Permitted, Objective or Expectation.
        code: the reason, anomaly, objective or expectation.
        what: what happened in this test.
        meaning: what the code means in general; empty where ``what`` says it.
        remedy: what to do; empty where ``what`` says it, or nothing is to be done.
    """

    kind: str
    code: str
    what: str
    meaning: str = ""
    remedy: str = ""

    @property
    def title(self) -> str:
        """How the cause is headed."""
        return f"{TITLES[self.kind]} {self.code}"

    def document(self) -> dict[str, str]:
        """Return it for JSON."""
        return asdict(self)


TITLES: Final = {
    "Condition": "condition",
    "InconclusiveReason": "inconclusive:",
    "Violation": "violation:",
    "Void": "not judged:",
    "Permitted": "permitted by the configuration:",
    "Objective": "objective missed:",
    "Expectation": "expectation",
}


def _of_reason(kind: str, code: str, title: str, message: str) -> Advice:
    known = REASONS.get(code)
    if known is None:
        return Advice(kind, title, message)
    # Other messages of the controller end with the remedy of this very case.
    general = known.appended or known in SCORING
    remedy = known.remedy if general and known.remedy not in message else ""
    return Advice(kind, title, message, _plain(known.meaning), remedy)


def _plain(markdown: str) -> str:
    """Return a meaning without the marks of Markdown."""
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", markdown).replace("`", "")


def conditions(test: Test) -> Iterator[Advice]:
    """Yield what the test waits for, and conditions that are False for a reason with a remedy."""
    if test.waiting:
        reason, message = test.waiting
        yield _of_reason("Condition", reason, f"Provisioned=Unknown {reason}", message)
    for item in test.conditions:
        reason = str(item.get("reason", ""))
        known = REASONS.get(reason)
        false = item["status"] == "False" and item["type"] not in PROGRESS_CONDITIONS
        if false and known is not None and known.remedy:
            title = f"{item['type']}=False {reason}"
            yield _of_reason("Condition", reason, title, str(item.get("message", "")))


def reasons(test: Test, card: dict[str, Any]) -> Iterator[Advice]:
    """Yield the inconclusive reasons of scorecard and status, each code and message once."""
    seen = set()
    for item in (*card.get("inconclusiveReasons", ()), *test.status.get("inconclusiveReasons", ())):
        key = (item["code"], item["message"])
        if key in seen:
            continue
        seen.add(key)
        subject = item.get("subject") or item.get("fault") or ""
        message = str(item["message"])
        what = f"{subject}: {message}" if subject and subject not in message else message
        yield _of_reason("InconclusiveReason", item["code"], item["code"], what)


def findings(card: dict[str, Any]) -> Iterator[Advice]:
    """Yield anomalies that are violations, those that are permitted, and missed objectives."""
    anomalies: dict[str, dict[str, Any]] = card.get("anomalies", {})
    ordered = sorted(anomalies.items(), key=_severity)
    for name, item in ordered:
        void, unit = item.get("void", 0), item.get("unit", "findings")
        standing = item.get("violations", 0) - void
        if standing:
            yield Advice(
                "Violation",
                name,
                f"{standing} {unit}" + (f" (and {void} void)" if void else ""),
                "the configuration of the test does not permit it",
                "the report shows the history of each; docs/concepts/anomalies.md defines it",
            )
    for name, item in ordered:
        if item.get("violations") and item["violations"] == item.get("void"):
            yield Advice(
                "Void",
                name,
                f"{item['void']} {item.get('unit', 'findings')}",
                "the evidence that they rest on is missing, so they prove nothing",
                "remove the cause that makes the run inconclusive, and run the test again",
            )
    for name, item in ordered:
        if item.get("permitted"):
            rules = ", ".join(sorted(item.get("rules") or ()))
            count = f"{item['permitted']} {item.get('unit', 'findings')}"
            yield Advice(
                "Permitted",
                name,
                f"{count} by {rules}" if rules else count,
                "",
                "docs/reference/allowances.md says which setting permits it",
            )
    for item in card.get("objectives", ()):
        if item.get("met") is False:
            unit = str(item.get("unit", ""))
            value, limit = (_amount(item.get(key), unit) for key in ("value", "limit"))
            yield Advice(
                "Objective",
                str(item["name"]),
                f"{'at least ' if item.get('atLeast') else ''}{value}, the limit is {limit}",
                "",
                "the report shows the parts of the time; spec.scoring.objectives has the limits",
            )


def _severity(item: tuple[str, dict[str, Any]]) -> tuple[bool, int, str]:
    name, body = item
    return name not in LOSSES, -int(body.get("count", 0)), name


def expectations(card: dict[str, Any]) -> Iterator[Advice]:
    """Yield the expectations that are not met, or could not be evaluated."""
    for item in card.get("expectationResults", ()):
        result = item.get("result")
        if result in {"NotMet", "NotEvaluated"}:
            known = REASONS[result]
            yield Advice(
                "Expectation",
                f"{item['expectation']} {result}",
                f"expected {item.get('expected', '')}; observed {item.get('observed', '')}",
                known.meaning if result == "NotMet" else "the evidence does not decide it",
            )


def _amount(value: Any, unit: str) -> str:
    if value is None:
        return "nothing was measured"
    return show_duration(value) if unit == MICROSECONDS else f"{value} {unit}".strip()
