"""A steady state in which an outage could not be seen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.unit.scoring.builders import (
    CRASH,
    DOWN,
    SECOND,
    expectation_inputs,
    expecting_run,
)

from krt_contract.faults import Action
from krt_scoring.history.intervals import Interval
from krt_scoring.metrics.implied_outages import implied_outages
from krt_scoring.verdict.guards import slow_baseline

if TYPE_CHECKING:
    from krt_scoring.inputs.fault_windows import FaultWindow
    from krt_scoring.inputs.recording import Recording

WRITE, READ = ("write", ""), ("read", "g")
SESSION, GROUP_SESSION = 18 * SECOND, 10 * SECOND
CONSUMER = {"name": "c", "topics": ["foo"], "group": "g", "config": {"session.timeout.ms": "10000"}}


def recording(*faults: FaultWindow, static: bool = False) -> Recording:
    consumer = CONSUMER | {"staticMembership": static}
    run = expecting_run({}, traffic={"producers": [], "consumers": [consumer]})
    return expectation_inputs({}, *CRASH, run=run, faults=faults).recording


READER = replace(DOWN, name="reader", targets=({"uid": "uid-c", "member": "consumer-c-0"},))
OWNED = Interval(0, 0, 0, "c-0", "uid-c", 0, 9, 0, 60 * SECOND, 0, None)


@pytest.mark.parametrize(
    ("fault", "implied"),
    [
        (DOWN, {WRITE: (SESSION, "down"), READ: (SESSION, "down")}),
        (READER, {READ: (GROUP_SESSION, "reader")}),
        # A process that is frozen for less than a session is back before it expires.
        (
            replace(READER, action=Action.FREEZE_POD, duration=4 * SECOND),
            {READ: (4 * SECOND, "reader")},
        ),
        # A broker that leads nothing, one that hands over, a fault that was not injected.
        (replace(DOWN, targets=({"uid": "u7", "member": "kafka-7"},)), {}),
        (replace(DOWN, action=Action.DELETE_POD), {}),
        (replace(DOWN, injected_at=None), {}),
    ],
)
def test_implied_outages_are_those_of_the_sessions(
    fault: FaultWindow, implied: dict[tuple[str, str], tuple[int, str]]
) -> None:
    assert implied_outages(recording(fault), (OWNED,)) == implied


@pytest.mark.parametrize(
    ("duration", "implied"),
    [
        (4 * SECOND, {READ: (4 * SECOND, "reader")}),
        (40 * SECOND, {READ: (GROUP_SESSION, "reader")}),
        # Nothing says how soon its next pod is there.
        (0, {}),
    ],
)
def test_implied_outages_of_a_static_member_end_when_it_is_back(
    duration: int, implied: dict[tuple[str, str], tuple[int, str]]
) -> None:
    fault = replace(READER, duration=duration)
    assert implied_outages(recording(fault, static=True), (OWNED,)) == implied


def messages(limits: dict[tuple[str, str], int], *faults: FaultWindow) -> list[tuple[str, str]]:
    found = slow_baseline.check(recording(*faults), limits, (OWNED,))
    return [(reason.subject, reason.message) for reason in found]


def test_check_of_an_implied_outage_below_the_limit_names_the_fault() -> None:
    ((subject, message),) = messages({READ: 12 * SECOND, WRITE: 12 * SECOND}, READER)
    assert subject == "read g"
    assert "fault reader implies an outage of 10.00 s" in message
    assert "Lower recordsPerSecond" in message
    assert "fewer tests at once" in message
    assert "spec.warmup" in message


def test_check_of_an_objective_below_the_limit_names_it() -> None:
    ((subject, message),) = messages({WRITE: 16 * SECOND})
    assert subject == "write"
    assert "maxWriteUnavailability is 15.00 s" in message


def test_check_of_visible_outages_gives_no_reason() -> None:
    assert not messages({READ: 9 * SECOND, WRITE: 9 * SECOND}, READER, DOWN)
