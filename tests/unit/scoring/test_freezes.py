"""When processes were frozen, by their containers or, of somebody else's brokers, by the fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.unit.scoring.builders import SECOND, second_event

from krt_scoring.history.freezes import Freeze, collect, last_ack
from krt_scoring.inputs.timeline import FOREVER

if TYPE_CHECKING:
    from krt_contract.timeline import Event

TARGET = {"uid": "u-7", "member": "kafka-7", "namespace": "kafka"}


def fault(at: float, event: str, action: str = "FreezePod", **target: Any) -> Event:
    targets = [{**TARGET, **target}]
    return second_event(at, "fault", event, "frozen", action=action, targets=targets)


def test_collect_takes_the_times_of_a_process_of_the_test_from_its_containers() -> None:
    events = (
        fault(10, "injected", namespace=""),
        second_event(10.2, "member", "frozen", "t-kafka-7-0", uid="u-7", member="kafka-7"),
        second_event(29.8, "member", "thawed", "t-kafka-7-0", uid="u-7", member="kafka-7"),
        fault(30, "reverted", namespace=""),
    )
    expected = Freeze("u-7", "kafka-7", int(10.2 * SECOND), int(29.8 * SECOND))
    assert collect(events) == (expected,)


def test_collect_takes_the_times_of_somebody_elses_broker_from_the_fault() -> None:
    events = (fault(10, "injected"), fault(30, "reverted"))
    assert collect(events) == (Freeze("u-7", "kafka-7", 10 * SECOND, 30 * SECOND),)


def test_collect_of_a_fault_that_was_not_reverted_lasts() -> None:
    (found,) = collect((fault(10, "injected"),))
    assert (found.begin, found.end) == (10 * SECOND, FOREVER)


def test_collect_takes_no_freeze_from_another_action_or_a_fault_that_was_skipped() -> None:
    crashed = (fault(10, "injected", "CrashPod"), fault(10, "reverted", "CrashPod"))
    assert collect(crashed) == collect((fault(40, "skipped"),)) == ()


def test_last_ack_of_somebody_elses_frozen_leader_counts_from_its_thaw() -> None:
    frozen = collect((fault(10, "injected"), fault(30, "reverted")))
    assert last_ack(7, 20 * SECOND, frozen, 9 * SECOND) == 39 * SECOND
    assert last_ack(8, 20 * SECOND, frozen, 9 * SECOND) == 29 * SECOND
