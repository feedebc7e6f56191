"""Guards about faults and the traffic pods that they hit."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.scoring.builders import (
    EVENTS,
    INSPECTION,
    TARGETS,
    WRITERS,
    codes,
    event,
    guard_inputs,
    without,
)

from krt_scoring.history.intervals import Interval
from krt_scoring.inputs.footers import Counted
from krt_scoring.inputs.timeline import FOREVER


def test_producer_summary_of_a_killed_producer_gives_no_reason() -> None:
    targets = [{"uid": "p0", "member": "producer-p-0"}]
    events = tuple(
        replace(item, detail={**item.detail, "targets": targets})
        if item.event == "injected"
        else item
        for item in EVENTS
    )
    inspection = replace(INSPECTION, incarnations={**WRITERS, "producer_summary": frozenset()})
    assert codes(guard_inputs(events, inspection=inspection)) == []


def test_fault_verification_of_a_crash_accepts_the_timeline() -> None:
    killed = event(11, "member", "exited", "t-kafka-0-0", uid="uid-kafka-0", exitCode=137)
    assert codes(guard_inputs((*without(("fault", "observed")), killed))) == []


def test_fault_verification_of_a_freeze_accepts_the_timeline() -> None:
    changed = {"action": "FreezePod", "targets": TARGETS}
    events = tuple(
        replace(item, detail=changed) if item.event == "injected" else item
        for item in without(("fault", "observed"))
    )
    assert codes(guard_inputs(events)) == [("coverage", "FaultNotVerified", "leader-down")]
    frozen = event(10, "member", "frozen", "t-kafka-0-0", uid="uid-kafka-0")
    assert codes(guard_inputs((*events, frozen))) == []


def test_fault_verification_of_two_targets_needs_both() -> None:
    two = {"action": "CrashPod", "targets": [*TARGETS, {"uid": "uid-kafka-1"}]}
    killed = event(11, "member", "killed", "t-kafka-0-0", uid="uid-kafka-0")
    events = tuple(
        replace(item, detail=two) if item.event == "injected" else item
        for item in without(("fault", "observed"))
    )
    assert codes(guard_inputs((*events, killed))) == [
        ("coverage", "FaultNotVerified", "leader-down")
    ]


STRUCK = (
    event(0, "recorder", "started", "recorder"),
    event(10, "fault", "injected", "leader-down", action="FreezePod", targets=[{"uid": "c0"}]),
    event(10, "fault", "observed", "leader-down", verified=True),
    event(10 + 60 * 10**6, "fault", "reverted", "leader-down"),
    event(10 + 80 * 10**6, "fault", "recovered", "leader-down"),
    event(99 * 10**6, "recorder", "stopped", "recorder"),
)
"""A consumer frozen for 60 s, longer than the client's session of 45 s."""


def owned(incarnation: str, begin: int, group: int = 0, tp: int = 0) -> Interval:
    return Interval(0, group, tp, "c-0", incarnation, 0, FOREVER, begin, FOREVER, 0, None)


def test_member_departure_beyond_its_session_needs_a_new_owner() -> None:
    ownership = owned("c0", 5)
    unseen = guard_inputs(STRUCK, ownerships=(ownership,))
    assert codes(unseen) == [("coverage", "FaultNotVerified", "leader-down")]
    assert codes(guard_inputs(STRUCK, ownerships=(ownership, owned("c1", 4)))) == codes(unseen)
    assert codes(guard_inputs(STRUCK, ownerships=(ownership, owned("c1", 50, tp=1)))) == codes(
        unseen
    )
    # Somebody else got what it owned; it owned nothing; it was away for less than a session.
    assert codes(guard_inputs(STRUCK, ownerships=(ownership, owned("c1", 50)))) == []
    assert codes(guard_inputs(STRUCK, ownerships=(owned("c1", 5),))) == []
    short = tuple(
        replace(item, at=40 * 10**6) if item.event == "reverted" else item for item in STRUCK
    )
    assert codes(guard_inputs(short, ownerships=(ownership,))) == []


def test_member_departure_observed_by_the_controller_gives_no_reason() -> None:
    observations = [{"kind": "MemberLeft", "subject": "t-c0"}]
    events = tuple(
        replace(item, detail={"verified": True, "observations": observations})
        if item.event == "observed"
        else item
        for item in STRUCK
    )
    assert codes(guard_inputs(events, ownerships=(owned("c0", 5),))) == []


def test_missing_rows_of_a_killed_consumer_gives_no_reason() -> None:
    targets = [{"uid": "c0", "member": "consumer-c-0"}]
    events = tuple(
        replace(item, detail={**item.detail, "targets": targets})
        if item.event == "injected"
        else item
        for item in EVENTS
    )
    counters = {("c-0", "c0"): Counted(rows=7, highest=9)}
    assert codes(guard_inputs(events, inspection=replace(INSPECTION, counters=counters))) == []
