from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from krt_operator.api.spec import Fault
from krt_operator.api.status import FaultState, FaultStatus
from krt_operator.faults import schedule

T0 = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
TWO_MINUTES = timedelta(minutes=2)


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
    ("after", "entries", "due"),
    [
        ({}, {}, at(5)),
        ({"fault": "a"}, {}, None),
        ({"fault": "a"}, {"a": BEFORE}, at(45)),
        ({"fault": "a", "event": "Reverted"}, {"a": BEFORE}, at(35)),
        ({"fault": "a", "event": "Started"}, {"a": BEFORE}, at(15)),
        ({"fault": "a", "event": "Started"}, {"a": FaultStatus(name="a")}, None),
    ],
)
def test_due_at_start_event_decides(
    after: dict[str, str], entries: dict[str, FaultStatus], due: datetime | None
) -> None:
    assert schedule.due_at(fault(startsAfter=after, delay="5s"), entries, T0) == due


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
def test_why_never_due_skipped_or_unrecovered_predecessor_is_named(
    event: str, before: dict[str, Any], never: bool
) -> None:
    entries = {"a": FaultStatus(name="a", **before)}
    waits = fault(startsAfter={"fault": "a", "event": event})
    assert bool(schedule.why_never_due(waits, entries, TWO_MINUTES, at(121))) is never


@pytest.mark.parametrize(("by", "late"), [(9.9, False), (10, False), (10.1, True)])
def test_is_late_only_after_ten_seconds(by: float, late: bool) -> None:
    assert schedule.is_late(at(0), at(by)) is late
