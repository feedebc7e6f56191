from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from krt_operator.api.spec import Fault
from krt_operator.api.status import FaultState, FaultStatus
from krt_operator.faults import schedule

T0 = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
MINUTES = timedelta(minutes=2)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def fault(**fields: Any) -> Fault:
    base = {"name": "b", "action": "CrashPod", "target": {"role": "Broker"}}
    return Fault.model_validate(base | fields)


BEFORE = FaultStatus(
    name="a",
    state=FaultState.REVERTED,
    injected_at=at(10),
    reverted_at=at(30),
    recovered_at=at(40),
)


@pytest.mark.parametrize(
    ("after", "journal", "due"),
    [
        ({}, {}, at(5)),
        ({"fault": "a"}, {}, None),
        ({"fault": "a"}, {"a": BEFORE}, at(45)),
        ({"fault": "a", "event": "Reverted"}, {"a": BEFORE}, at(35)),
        ({"fault": "a", "event": "Started"}, {"a": BEFORE}, at(15)),
        ({"fault": "a", "event": "Started"}, {"a": FaultStatus(name="a")}, None),
    ],
)
def test_when_a_fault_is_due(
    after: dict[str, str], journal: dict[str, FaultStatus], due: datetime | None
) -> None:
    assert schedule.due_at(fault(startsAfter=after, delay="5s"), journal, T0) == due


@pytest.mark.parametrize(
    ("event", "before", "never"),
    [
        ("Recovered", {"state": FaultState.SKIPPED}, True),
        ("Started", {"state": FaultState.SKIPPED}, True),
        ("Recovered", {"state": FaultState.REVERTED, "reverted_at": at(0)}, True),
        ("Reverted", {"state": FaultState.REVERTED, "reverted_at": at(0)}, False),
        ("Recovered", {"state": FaultState.ACTIVE, "injected_at": at(0)}, False),
        (
            "Recovered",
            {"state": FaultState.REVERTED, "reverted_at": at(0), "recovered_at": at(5)},
            False,
        ),
    ],
)
def test_when_a_fault_will_never_be_due(event: str, before: dict[str, Any], never: bool) -> None:
    journal = {"a": FaultStatus(name="a", **before)}
    waits = fault(startsAfter={"fault": "a", "event": event})
    assert bool(schedule.blocked(waits, journal, MINUTES, at(121))) is never


@pytest.mark.parametrize(("by", "late"), [(9.9, False), (10, False), (10.1, True)])
def test_ten_seconds_are_not_late(by: float, late: bool) -> None:
    assert schedule.late(at(0), at(by)) is late
