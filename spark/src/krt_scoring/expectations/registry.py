"""Every expectation of ``spec.expect``, and what each of them looks at.

Apart from the verdict on the data. Each module evaluates the expectations of one kind and is a pure
function of what it is given; an expectation that the evidence does not show is NotEvaluated, never
Met. A new expectation is a function of such a module and an entry in ``OF_RUN`` or ``OF_FAULT``
(docs/development/adding-an-expectation.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from krt_scoring.anomalies.registry import unchecked
from krt_scoring.expectations import (
    admin_requests,
    broker_return,
    coordination_changes,
    counts,
    fault_span,
    groups,
    keys,
    leadership,
    node_spread,
    occurrences,
    processing,
    rack_locality,
    replicas,
    unavailability,
)
from krt_scoring.expectations.results import Result, not_evaluated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krt_contract.plan import Plan
    from krt_scoring.anomalies.results import Detection
    from krt_scoring.expectations.fault_span import FaultSpan
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.ledger_columns import Files
    from krt_scoring.inputs.reasons import Reason
    from krt_scoring.inputs.recording import Recording
    from krt_scoring.metrics.measures import Measures
    from krt_scoring.metrics.partition_states import States


@dataclass(frozen=True, slots=True)
class ExpectationInputs:
    """The results of the steps before the expectations.

    Attributes:
        recording: what was recorded.
        states: the states of the tested partitions.
        detection: what the rules detected.
        measures: what was measured.
        reasons: why the run, or a part of it, is Inconclusive.
        verified: fault → whether its effect was observed.
        end: when the run ended, UTC µs.
    """

    recording: Recording
    states: States
    detection: Detection
    measures: Measures
    reasons: Sequence[Reason] = ()
    verified: Mapping[str, bool] = field(default_factory=dict)
    end: int = 0

    @property
    def run(self) -> Plan:
        """The plan."""
        return self.recording.run

    @property
    def files(self) -> Files:
        """Table of the bundle → its usable files."""
        return self.recording.inspection.files

    def verified_fault(self, name: str) -> FaultWindow | None:
        """Return a fault that is known to have acted, None for any other."""
        for fault in self.recording.faults:
            if fault.name == name and fault.injected_at is not None and self.verified.get(name):
                return fault
        return None


Expect = Mapping[str, Any]
"""``spec.expect``, or an entry of its ``faults``."""

OF_RUN: tuple[Callable[[Expect, ExpectationInputs], Iterator[Result]], ...] = (
    lambda expect, given: occurrences.evaluate_anomalies(
        expect,
        given.detection,
        occurrences.undecided_anomalies(given.detection, given.reasons),
        frozenset(unchecked(given.run)),
    ),
    lambda expect, given: occurrences.evaluate_elections(
        expect, given.states, given.run, given.end, given.recording.inspection.sends[0]
    ),
    lambda expect, given: processing.evaluate(expect, given.run, given.files),
    lambda expect, given: counts.evaluate_records(expect, given.detection.ledger, given.reasons),
    lambda expect, given: counts.evaluate_rejections(expect, given.files),
    lambda expect, given: groups.evaluate(expect, given.recording, given.end),
    lambda expect, given: rack_locality.evaluate(expect, given.run, given.files),
    lambda expect, given: keys.evaluate(expect, given.files),
    lambda expect, given: node_spread.evaluate(expect, given.recording),
    lambda expect, given: leadership.evaluate_at_end(expect, given.states, given.end),
)
"""Expectations about the whole run, in the order of the documentation."""

COUNTED_IN: Mapping[str, frozenset[str]] = {
    "rejections": frozenset({"produce"}),
    "unprocessed": frozenset({"consume", "consumer_events"}),
    "processedTwice": frozenset({"consume", "consumer_events"}),
    "rebalances": frozenset({"consumer_events"}),
    "unassignedConsumers": frozenset({"consumer_events"}),
    "closestReplicaFetches": frozenset({"consumer_events"}),
    "nonEmptyPartitions": frozenset({"log_end_offsets"}),
    "partitionsPerKey": frozenset({"log"}),
}
"""Expectation → the tables that it is counted in, where no anomaly or reason answers for them."""

OF_FAULT: tuple[Callable[[Expect, FaultSpan, ExpectationInputs], Iterator[Result]], ...] = (
    lambda expect, span, given: leadership.evaluate(
        expect, span, given.states, given.recording.faults
    ),
    lambda expect, span, given: replicas.evaluate(
        expect, span, given.states, given.measures.recoveries
    ),
    lambda expect, span, given: coordination_changes.evaluate(
        expect, span, given.recording.timeline, given.run
    ),
    lambda expect, span, given: unavailability.evaluate(expect, span, given.measures),
    lambda expect, span, given: admin_requests.evaluate(expect, span, given.recording.timeline),
    lambda expect, span, given: broker_return.evaluate(expect, span, given.recording),
)
"""Expectations about the span of a fault, in the order of the documentation."""


def evaluate(given: ExpectationInputs) -> tuple[Result, ...]:
    """Return the result of every expectation of the run's spec, in the documented order."""
    return tuple(_evaluate(given.run.resolved_spec.get("expect") or {}, given))


def _evaluate(expect: Expect, given: ExpectationInputs) -> Iterator[Result]:
    if reason := expect.get("error"):
        expected = f"ends in phase Error with {reason}"
        yield Result("error", expected, "NotMet", "the test ran and its evidence was scored")
    damaged = _damaged(given)
    for evaluate_run in OF_RUN:
        for result in evaluate_run(expect, given):
            lacking = sorted(damaged & COUNTED_IN.get(result.expectation.split()[0], frozenset()))
            if lacking:
                cause = f"of {', '.join(lacking)}, not all evidence can be used"
                yield not_evaluated(result.expectation, result.expected, cause)
            else:
                yield result
    for item in expect.get("faults") or ():
        yield from _of_fault(item, given)


def _damaged(given: ExpectationInputs) -> frozenset[str]:
    """Return the tables of which evidence is missing or cannot be used."""
    inspection = given.recording.inspection
    reasons = (reason for reason in inspection.reasons if reason.kind == "evidence")
    unusable = inspection.left_out | inspection.unsound
    return unusable.union(*(reason.scope.tables for reason in reasons))


def _of_fault(expect: Expect, given: ExpectationInputs) -> Iterator[Result]:
    fault = given.verified_fault(expect["name"])
    if fault is None:
        for name, value in expect.items():
            if name not in {"name", "until"} and value:
                expectation = fault_span.full_name(expect, f"{expect['name']}.{name}")
                cause = "the effect of the fault was not observed"
                yield not_evaluated(expectation, "as specified", cause)
        return
    span = fault_span.span_of(expect, fault, given.end)
    for evaluate_fault in OF_FAULT:
        for result in evaluate_fault(expect, span, given):
            yield replace(result, expectation=fault_span.full_name(expect, result.expectation))
