"""Claims on what the cluster answered while a fault acted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_contract.timeline import EventName, Source
from krt_scoring import durations
from krt_scoring.expectations.result import Result, unmeasured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_scoring.expectations.evidence import Evidence
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.timeline import Timeline


def of_fault(
    expect: Mapping[str, Any], window: FaultWindow, end: int, evidence: Evidence
) -> Iterator[Result]:
    """Yield the results of ``probes``: of those asked from the injection to ``end``."""
    for item in expect.get("adminRequests") or ():
        claim, wanted = f"{window.name}.adminRequests {item['request']}", str(item["answer"])
        found = [
            answer
            for answer in answers(evidence.timeline)
            if (answer["fault"], answer["request"]) == (window.name, item["request"])
            and (window.injected_at or 0) <= answer["at"] <= end
        ]
        if not found:
            yield unmeasured(claim, wanted, "it was not asked, or its answer not written down")
            continue
        last = found[-1]
        held = last["answer"] == wanted
        seen = f"{last['answer']} ({last['error']}) after {durations.show(last['took'])}"
        result = Result(claim, wanted, "Met" if held else "NotMet", seen, {"took": last["took"]})
        yield result


def answers(timeline: Timeline) -> list[dict[str, Any]]:
    """Return every answer: ``fault``, ``probe``, ``at``, ``took`` (µs), ``answer``, ``error``."""
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
