"""Numbers of one run that contradict each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.scoring.builders import SECOND, detection, guard_inputs

from krt_scoring.metrics.counting import OperationCounts
from krt_scoring.metrics.gaps import Gap
from krt_scoring.metrics.histogram import bin_of
from krt_scoring.metrics.latency import Latencies
from krt_scoring.metrics.measures import Measures
from krt_scoring.metrics.transactions import Transactions, Transform
from krt_scoring.verdict import conclusion, reasons, warnings

LIMIT = SECOND // 2
KIND = ("read", "g")


def measures(during: int, *gaps: Gap, before: int = SECOND // 10) -> Measures:
    """Reads of a group that took this long, µs, before and during a fault."""
    latencies = Latencies()
    for part, micros in (("before", before), ("during", during)):
        latencies.add(("read", "g", part), bin_of(micros), 100, micros)
    return Measures(OperationCounts(latencies), detection_limits={KIND: LIMIT}, gaps=gaps)


def gap(duration: int) -> Gap:
    return Gap("read", "g", "foo", 0, 0, duration)


@pytest.mark.parametrize(
    ("found", "warned"),
    [
        # A consumer was dead for ten seconds, and no gap was seen.
        (measures(10 * SECOND), True),
        (measures(10 * SECOND, gap(10 * SECOND)), False),
        (measures(10 * SECOND, gap(SECOND)), True),
        # A backlog as long as the gap before it.
        (measures(10 * SECOND, gap(6 * SECOND)), False),
        (measures(SECOND), False),
        # As slow as it was before.
        (measures(10 * SECOND, before=9 * SECOND + SECOND // 2), False),
    ],
)
def test_check_of_latencies_far_above_the_longest_gap_warns(
    found: Measures, *, warned: bool
) -> None:
    codes = [(item.code, item.subject) for item in warnings.check(found)]
    assert codes == ([("LatencyExceedsGaps", "read g")] if warned else [])


def test_check_of_one_slow_operation_among_others_does_not_warn() -> None:
    found = measures(SECOND // 10)
    found.counts.latencies.add(("read", "g", "during"), bin_of(30 * SECOND), 1, 30 * SECOND)
    assert not list(warnings.check(found))


def test_check_of_a_group_without_a_detection_limit_warns() -> None:
    found = measures(SECOND)
    found.counts.latencies.add(("read", "audit", "after"), bin_of(SECOND), 3, SECOND)
    found.counts.latencies.add(("endToEnd", "audit", "after"), bin_of(SECOND), 3, SECOND)
    (warning,) = warnings.check(found)
    assert (warning.code, warning.subject) == ("UnavailabilityNotMeasured", "read audit")
    assert "fewer than 20 waits" in warning.message
    assert not list(warnings.check(replace(found, detection_limits={})))


def test_check_of_a_transform_that_is_not_one_to_one_warns() -> None:
    transform = Transform("billers", 5, 4, 1, 0, 0, 0)
    ended = dict.fromkeys(("committed", "aborted", "undecided"), (1, 5))
    found = replace(measures(0), transactions=Transactions(ended, (transform,)))
    (warning,) = warnings.check(found)
    assert (warning.code, warning.subject) == ("TransformNotOneToOne", "billers")
    assert "of 5 committed inputs 1 have no output" in warning.message
    exact = replace(transform, outputs=5, without_output=0)
    assert not list(warnings.check(replace(found, transactions=Transactions(ended, (exact,)))))


def test_conclude_with_a_warning_keeps_the_verdict_and_names_it() -> None:
    plain = guard_inputs()
    contradicting = replace(
        plain, measures=replace(measures(10 * SECOND), counts=plain.measures.counts)
    )
    contradicting.measures.counts.latencies.histograms.update(
        measures(10 * SECOND).counts.latencies.histograms
    )
    given = [
        replace(item, detection=detection({}, {"acked": 9, "attempted": 9}))
        for item in (plain, contradicting)
    ]
    without, with_warning = (conclusion.conclude(item, reasons.collect(item)) for item in given)
    assert [item.code for item in with_warning.warnings] == ["LatencyExceedsGaps"]
    assert without.decision.verdict == with_warning.decision.verdict
    assert with_warning.summary.endswith("warning: LatencyExceedsGaps read g")
