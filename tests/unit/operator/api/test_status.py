from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from krt_operator.api.conditions import (
    Condition,
    ConditionStatus,
    ConditionType,
    find_condition,
    with_condition,
)
from krt_operator.api.status import (
    FaultState,
    FaultStatus,
    Phase,
    Status,
    Verdict,
)

NOW = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def condition(status: ConditionStatus, at: datetime, reason: str = "Waiting") -> Condition:
    return Condition(
        type=ConditionType.FINISHED,
        status=status,
        reason=reason,
        message="",
        last_transition_time=at,
        observed_generation=1,
    )


def test_with_condition_same_status_keeps_the_transition_time() -> None:
    first = with_condition((), condition(ConditionStatus.UNKNOWN, NOW))
    same = with_condition(first, condition(ConditionStatus.UNKNOWN, LATER, reason="Queued"))
    assert [(c.reason, c.last_transition_time) for c in same] == [("Queued", NOW)]
    changed = with_condition(same, condition(ConditionStatus.TRUE, LATER))
    assert [(c.status, c.last_transition_time) for c in changed] == [("True", LATER)]


def test_find_condition_not_set_is_none() -> None:
    conditions = with_condition((), condition(ConditionStatus.TRUE, NOW))
    assert find_condition(conditions, ConditionType.FINISHED) is conditions[0]
    assert find_condition(conditions, ConditionType.SUCCEEDED) is None


def test_active_faults_are_the_open_ones() -> None:
    status = Status(
        faults=tuple(FaultStatus(name=state.lower(), state=state) for state in FaultState)
    )
    assert status.active_faults == "scheduled,injected,active"
    assert status.dump()["activeFaults"] == "scheduled,injected,active"


def test_status_written_reads_back_equal() -> None:
    status = Status(
        phase=Phase.SCORING,
        start_time=NOW,
        verdict=Verdict.PENDING,
        ledger={"attempted": 3},
        conditions=with_condition((), condition(ConditionStatus.TRUE, NOW)),
        faults=(FaultStatus(name="a", state=FaultState.ACTIVE, injected_at=LATER),),
    )
    assert Status.model_validate(status.dump()) == status


def test_status_replace_validates() -> None:
    status = Status().replace(phase=Phase.WARMUP, score=100)
    assert (status.phase, status.score) == (Phase.WARMUP, 100)
    with pytest.raises(ValidationError):
        status.replace(score=101)


def test_phase_terminal_is_true_for_the_last_three() -> None:
    assert [phase for phase in Phase if phase.terminal] == ["Completed", "Error", "Aborted"]
