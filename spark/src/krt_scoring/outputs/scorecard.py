"""The scorecard: everything the verdict rests on, as a document of integers.

The same evidence gives the same bytes wherever and however it is scored; nothing in it is about
the scoring itself. ``docs/reference/scorecard.md`` describes every key.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krt_contract import SCHEMA_VERSION
from krt_scoring.anomalies import registry as anomalies
from krt_scoring.expectations.admin_requests import answers
from krt_scoring.expectations.counts import count_rejections
from krt_scoring.inputs.reasons import ALL, Reason
from krt_scoring.metrics import leadership, partitions
from krt_scoring.metrics.breakdown import GapContext
from krt_scoring.metrics.span import span_of
from krt_scoring.outputs import scorecard_sections as sections
from krt_scoring.verdict.summary import MAX_LENGTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_contract.bundle import Bundle
    from krt_scoring.expectations.results import Result
    from krt_scoring.metrics.partition_states import States
    from krt_scoring.selftest.results import SelfTestResult
    from krt_scoring.verdict.conclusion import Conclusion
    from krt_scoring.verdict.guards.registry import GuardInputs

SCORE_KEY = "score"
"""The only key whose value has a decimal: 0 to 100 points."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What is known of a run beside its verdict.

    Attributes:
        states: the states of the tested partitions.
        end: when the run ended, UTC µs.
        expectations: the results of ``spec.expect``.
        tested: the result of the self-test, where the run was tested.
    """

    states: States
    end: int
    expectations: Sequence[Result]
    tested: SelfTestResult | None = None


def build(given: GuardInputs, conclusion: Conclusion, evaluated: Evaluated) -> dict[str, Any]:
    """Return the scorecard of a run.

    Args:
        given: what was recorded, detected and measured.
        conclusion: the verdict.
        evaluated: the expectations and the self-test.
    """
    recording, detection, measures = given.recording, given.detection, given.measures
    run, faults, decision = recording.run, recording.faults, conclusion.decision
    context = GapContext(faults, recording.timeline, measures.assigned)
    card = header(run.namespace, run.name, run.uid, run.seed) | {
        "verdict": decision.verdict,
        "summary": conclusion.summary,
        "inconclusiveReasons": [reason.as_dict() for reason in decision.reasons],
        "warnings": [warning.as_dict() for warning in conclusion.warnings],
        "ledger": detection.ledger,
        "producers": list(detection.producers),
        "anomalies": sections.anomalies(detection.anomalies, decision.void),
        "uncheckedAnomalies": list(anomalies.unchecked(run)),
        "allowances": sections.allowances(detection.anomalies),
        "truncations": list(detection.truncations),
        "objectives": [item.as_dict() for item in decision.objectives],
        "faults": sections.faults(faults, conclusion.verified),
        "partitions": partitions.tables(evaluated.states, faults, evaluated.end),
        "leadership": leadership.rows(evaluated.states, recording.timeline, faults, evaluated.end),
        "rejections": count_rejections(recording.inspection.files),
        "adminRequests": answers(recording.timeline),
        "expectationResults": [item.as_dict() for item in evaluated.expectations],
        "availability": sections.availability(run, measures, context),
        "recovery": sections.recovery(measures),
    }
    if run.imported:
        card["imported"] = run.imported.to_document()
    else:
        card["steadyFrom"] = span_of(recording).steady
        card["latency"] = sections.latency(measures.counts.latencies)
    if measures.transactions is not None:
        card["transactions"] = measures.transactions.as_dict()
    if run.compares_replicas:
        card["replicas"] = sections.replicas(given.replicas)
    if evaluated.tested is not None:
        card["selfTest"] = evaluated.tested.as_dict()
    if conclusion.score is not None:
        card |= {"score": conclusion.score.points, "components": conclusion.score.components}
    return card


def without_plan(bundle: Bundle, problem: str, where: str) -> dict[str, Any]:
    """Return the scorecard of a bundle whose plan cannot be used.

    Args:
        bundle: where it lies.
        problem: what is wrong with the file.
        where: the file that should hold the plan.
    """
    uid, name, namespace = (*reversed(bundle.root.resolve().parts[-3:]), "", "", "")[:3]
    reason = Reason("evidence", "PlanUnusable", where, problem, ALL)
    return header(namespace, name, uid, None) | {
        "verdict": "Inconclusive",
        "summary": f"PlanUnusable {where}: {problem}"[:MAX_LENGTH],
        "inconclusiveReasons": [reason.as_dict()],
    }


def header(namespace: str, name: str, uid: str, seed: int | None) -> dict[str, Any]:
    """Return the part that identifies the run."""
    run: dict[str, Any] = {"namespace": namespace, "name": name, "uid": uid}
    if seed is not None:
        run["seed"] = seed
    return {"schemaVersion": SCHEMA_VERSION, "run": run}


def dump(card: Mapping[str, Any]) -> str:
    """Return the scorecard's text: sorted keys, one newline at the end.

    Raises:
        TypeError: a number in it, other than a score, is not an integer.
    """
    _refuse_floats(card, "")
    return json.dumps(card, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def _refuse_floats(value: Any, where: str) -> None:
    if isinstance(value, float):
        raise TypeError(f"{where} is {value!r}; only the scores of a scorecard have a decimal")
    if isinstance(value, dict):
        for key, item in value.items():
            if key != SCORE_KEY:
                _refuse_floats(item, f"{where}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_floats(item, f"{where}[{index}]")
