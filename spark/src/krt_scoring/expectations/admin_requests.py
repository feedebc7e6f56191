"""Expectations about the answers to admin requests while a fault was active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_scoring import durations
from krt_scoring.expectations.results import Outcome, Result, not_evaluated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.fault_span import FaultSpan
    from krt_scoring.inputs.timeline import Timeline


def evaluate(expect: Mapping[str, Any], span: FaultSpan, timeline: Timeline) -> Iterator[Result]:
    """Yield the results of ``adminRequests``, of those sent within the span."""
    for item in expect.get("adminRequests") or ():
        expectation, expected = f"{span.name}.adminRequests {item['request']}", str(item["answer"])
        found = [
            answer
            for answer in answers(timeline)
            if (answer["fault"], answer["request"]) == (span.name, item["request"])
            and span.start <= answer["at"] <= span.end
        ]
        if not found:
            yield not_evaluated(
                expectation, expected, "the request was not sent, or its answer was not recorded"
            )
            continue
        last = found[-1]
        outcome: Outcome = "Met" if last["answer"] == expected else "NotMet"
        observed = f"{last['answer']} ({last['error']}) after {durations.show(last['took'])}"
        yield Result(expectation, expected, outcome, observed, {"took": last["took"]})


def answers(timeline: Timeline) -> list[dict[str, Any]]:
    """Return every answer: ``fault``, ``request``, ``at``, ``took`` (µs), ``answer``, ``error``."""
    return [
        {
            "fault": event.subject,
            "at": event.at,
            "request": str(event.detail.get("request")),
            "answer": str(event.detail.get("answer")),
            "error": str(event.detail.get("error")),
            "took": int(event.detail.get("took") or 0),
        }
        for event in timeline.of(Source.ADMIN_REQUEST, EventName.ANSWERED)
    ]
