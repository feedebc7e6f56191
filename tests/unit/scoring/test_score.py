"""What holds of score and verdict whatever the run."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.scoring.builders import detection

from krt_scoring.inputs.reasons import Reason
from krt_scoring.outputs.report.score import explain
from krt_scoring.verdict import score, verdict
from krt_scoring.verdict.objectives import Objective
from krt_scoring.verdict.score import ScoreInputs, compute
from krt_scoring.verdict.score_inputs import score_inputs

MANY = st.integers(0, 10_000_000)
FEW = st.integers(0, 200)
MICROS = st.integers(0, 300_000_000)
PAIR = st.tuples(MICROS, st.integers(0, 60_000_000))

INPUTS = st.builds(
    ScoreInputs,
    acked=MANY,
    lost_permitted=FEW,
    lost_violations=st.one_of(st.just(0), FEW),
    lost_limit=st.one_of(st.just(0), FEW),
    order_permitted=FEW,
    order_violations=st.one_of(st.just(0), FEW),
    delivery_permitted=FEW,
    delivery_violations=st.one_of(st.just(0), FEW),
    delivered_late=MANY,
    undelivered=FEW,
    deliveries=MANY,
    unavailability=st.lists(PAIR, max_size=2).map(tuple),
    recovery=st.one_of(st.none(), PAIR),
    violated_kinds=st.integers(0, 12),
)
COUNTS = (
    "lost_permitted",
    "lost_violations",
    "order_permitted",
    "order_violations",
    "delivery_permitted",
    "delivery_violations",
    "delivered_late",
    "undelivered",
    "violated_kinds",
)


@given(INPUTS)
def test_compute_lies_between_0_and_100_and_adds_up(inputs: ScoreInputs) -> None:
    result = compute(inputs)
    raw = (
        sum(
            round(component["weight"] * component["score"] * 10)
            for component in result.components.values()
        )
        // 100
    )
    assert result.tenths == min(raw, score.cap(inputs))
    assert 0 <= result.tenths <= 1000
    assert all(0 <= component["score"] <= 100 for component in result.components.values())


@given(INPUTS, st.sampled_from(COUNTS), st.integers(1, 1000))
def test_compute_with_a_further_finding_never_rises(
    inputs: ScoreInputs, name: str, more: int
) -> None:
    worse = replace(inputs, **{name: getattr(inputs, name) + more})
    assert compute(worse).tenths <= compute(inputs).tenths


@given(INPUTS, st.integers(0, 1), st.integers(1, 100_000_000))
def test_compute_with_a_longer_gap_never_rises(inputs: ScoreInputs, index: int, more: int) -> None:
    if index >= len(inputs.unavailability):
        return
    pairs = list(inputs.unavailability)
    pairs[index] = ((pairs[index][0] or 0) + more, pairs[index][1])
    assert compute(replace(inputs, unavailability=tuple(pairs))).tenths <= compute(inputs).tenths


OBJECTIVE = st.builds(
    Objective,
    st.just("maxWriteUnavailability"),
    st.integers(0, 60_000_000),
    st.one_of(st.none(), MICROS),
    detection_limit=st.one_of(st.none(), MICROS),
)


def scored(objective: Objective) -> int:
    inputs = score_inputs(detection({}, {}), verdict.decide({}, (), (objective,)))
    return compute(inputs).tenths


@given(OBJECTIVE, MICROS)
def test_compute_with_a_gap_that_is_seen_never_rises(objective: Objective, gap: int) -> None:
    """Neither where none was seen before, nor where one adds to the detection limit."""
    seen = replace(objective, value=max(gap, objective.value or 0))
    assert scored(seen) <= scored(objective)


@given(OBJECTIVE, st.integers(1, 100_000_000))
def test_compute_with_a_higher_detection_limit_never_rises(objective: Objective, more: int) -> None:
    noisier = replace(objective, detection_limit=(objective.detection_limit or 0) + more)
    assert scored(noisier) <= scored(objective)


def test_compute_of_an_unseen_gap_counts_the_detection_limit() -> None:
    """A noisy machine is no reason for points: what it hides may have been that long."""
    unseen = Objective("maxWriteUnavailability", 10, None, detection_limit=8)
    assert scored(unseen) == scored(Objective("maxWriteUnavailability", 10, 8)) == 976
    assert scored(Objective("maxWriteUnavailability", 10, 8, detection_limit=2)) == 976


@given(INPUTS, st.integers(1, 100_000_000))
def test_compute_with_a_longer_recovery_never_rises(inputs: ScoreInputs, more: int) -> None:
    if inputs.recovery is None:
        return
    worse = replace(inputs, recovery=(inputs.recovery[0] + more, inputs.recovery[1]))
    assert compute(worse).tenths <= compute(inputs).tenths


@given(INPUTS)
def test_compute_of_losses_and_violations_is_capped(inputs: ScoreInputs) -> None:
    found = compute(inputs).tenths
    if inputs.lost_violations:
        assert found == 0
    if inputs.violated_kinds:
        assert found < 500
    if inputs.lost_permitted > inputs.lost_limit:
        assert found <= 500


@given(INPUTS)
def test_compute_of_a_passed_run_is_at_least_80(inputs: ScoreInputs) -> None:
    passed = replace(
        inputs,
        lost_violations=0,
        order_violations=0,
        delivery_violations=0,
        violated_kinds=0,
        lost_permitted=min(inputs.lost_permitted, inputs.lost_limit),
        unavailability=tuple(
            (None if value is None else min(value, limit), limit)
            for value, limit in inputs.unavailability
        ),
        recovery=None if inputs.recovery is None else (min(inputs.recovery), inputs.recovery[1]),
    )
    assert compute(passed).tenths >= 800


def test_compute_of_gaps_that_were_not_measured_counts_and_shows_none() -> None:
    inputs = ScoreInputs(acked=9, unavailability=((4_000_000, 8_000_000), (None, 20_000_000)))
    availability = compute(inputs).components["availability"]
    assert availability["score"] == 90.0
    assert availability["inputs"] == {
        "value0": 4_000_000,
        "limit0": 8_000_000,
        "limit1": 20_000_000,
    }
    text = explain("availability", availability["inputs"])
    assert "Reads: not measured, against an objective of 20.00 s." in text


def test_compute_of_a_clean_run_is_100_and_of_one_lost_record_at_most_50() -> None:
    clean = ScoreInputs(acked=1_000_000, deliveries=1_000_000)
    assert compute(clean).tenths == 1000
    assert compute(replace(clean, lost_permitted=1)).tenths <= 500
    assert compute(replace(clean, lost_violations=1, violated_kinds=1)).tenths == 0


MET = Objective("lostRecords", 0, 0)
MISSED = Objective("lostRecords", 0, 1)
COVERAGE = Reason("coverage", "FaultNotVerified", "f", "m")
EVIDENCE = Reason("evidence", "FileMissing", "log/x", "m", ("lost-write",))


def decide(
    violations: dict[str, int], reasons: tuple[Reason, ...], *objectives: Objective
) -> verdict.Verdict:
    return verdict.decide(violations, reasons, objectives).verdict


def test_decide_prefers_failed_then_inconclusive_then_degraded() -> None:
    assert decide({}, (), MET) == "Passed"
    assert decide({"lost-write": 0}, (), MISSED) == "Degraded"
    assert decide({}, (COVERAGE,), MISSED) == "Inconclusive"
    assert decide({"lost-write": 1}, (COVERAGE,), MISSED) == "Failed"


def test_decide_on_damaged_evidence_ignores_its_anomalies_alone() -> None:
    assert decide({"lost-write": 1}, (EVIDENCE,), MET) == "Inconclusive"
    assert decide({"lost-write": 1, "commit-rewind": 1}, (EVIDENCE,), MET) == "Failed"
    decision = verdict.decide({"lost-write": 1, "commit-rewind": 1}, (EVIDENCE,), ())
    assert decision.standing == {"commit-rewind": 1}


def test_decide_with_an_unmeasured_objective_passes_and_with_an_unended_one_does_not() -> None:
    assert decide({}, (), Objective("maxRecovery", 5, None)) == "Passed"
    assert decide({}, (), Objective("maxRecovery", 5, 3, ended=False)) == "Degraded"


NAMES = st.sampled_from(["lost-write", "unseen", "poll-skip"])
REASONS = st.lists(st.sampled_from([COVERAGE, EVIDENCE]), max_size=3).map(tuple)


@given(st.dictionaries(NAMES, FEW), REASONS, st.sampled_from([MET, MISSED]))
def test_decide_with_a_coverage_reason_keeps_a_violation(
    violations: dict[str, int], reasons: tuple[Reason, ...], objective: Objective
) -> None:
    found = decide(violations, reasons, objective)
    assert (found == "Failed") == (decide(violations, (*reasons, COVERAGE), objective) == "Failed")
