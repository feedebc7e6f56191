"""Expectations about leaders and ISRs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.scoring.builders import (
    CRASH,
    SECOND,
    expectation_inputs,
    expecting_run,
    of_fault,
    reassign,
    results,
    second_event,
    state,
)

from krt_scoring.expectations.registry import evaluate
from krt_scoring.metrics.recovery import Recovery

if TYPE_CHECKING:
    from krt_contract.timeline import Event


@pytest.mark.parametrize(
    ("field", "bounds", "result"),
    [
        ("leaderChanges", {"min": 1, "max": 1}, "Met"),
        ("leaderChanges", {"max": 0}, "NotMet"),
        ("unrelatedLeaderChanges", {"max": 0}, "Met"),
        ("offlinePartitions", {"max": 0}, "Met"),
        ("offlinePartitions", {"min": 1}, "NotMet"),
        ("isrShrinks", {"min": 2, "max": 2}, "Met"),
        ("isrShrinks", {"max": 1}, "NotMet"),
        ("isrShrinkAfter", {"min": "5s", "max": "7s"}, "Met"),
        ("isrShrinkAfter", {"max": "5s"}, "NotMet"),
    ],
)
def test_evaluate_leaders_and_isrs_after_a_crash(
    field: str, bounds: dict[str, Any], result: str
) -> None:
    assert results(of_fault(**{field: bounds}), *CRASH) == {f"down.{field}": result}


def test_evaluate_leader_changes_excludes_an_offline_partition() -> None:
    events = [*CRASH[:2], state(16, 0, -1, [0], 1), state(31, 0, 0, [0], 2)]
    expect = of_fault(offlinePartitions={"min": 1, "max": 1}, leaderChanges={"max": 0})
    assert set(results(expect, *events).values()) == {"Met"}


def test_evaluate_unrelated_leader_changes_names_the_partition() -> None:
    events = [*CRASH, state(20, 1, 0, [0, 1], 3)]
    events = [e for e in events if e.at != 34 * SECOND]
    (found,) = evaluate(expectation_inputs(of_fault(unrelatedLeaderChanges={"max": 0}), *events))
    assert (found.result, found.numbers) == ("NotMet", {"value": 1})
    assert "foo-1 from 1" in found.observed


def test_evaluate_until_reverted_ends_at_the_revert() -> None:
    events = [*CRASH[:2], state(35, 0, 1, [1], 1)]
    for until, result in (("Reverted", "Met"), ("Recovered", "NotMet")):
        found = results(of_fault(leaderChanges={"max": 0}, until=until), *events)
        assert list(found.values()) == [result]
    assert list(results(of_fault(leaderChanges={"max": 0}, until="Reverted"), *events)) == [
        "down while active.leaderChanges"
    ]


def test_evaluate_leader_changes_with_a_missed_state_decides_minimum_alone() -> None:
    events = [*CRASH[:2], state(16, 0, 1, [1], 4), state(16, 1, 1, [1], 1)]
    found = results(of_fault(unrelatedLeaderChanges={"max": 0}, leaderChanges={"min": 1}), *events)
    assert found == {"down.unrelatedLeaderChanges": "NotEvaluated", "down.leaderChanges": "Met"}


@pytest.mark.parametrize(
    ("silence", "result"),
    [((), "Met"), ((12, 15.9), "Met"), ((14, 16.1), "NotEvaluated"), ((16.1, 18), "Met")],
)
def test_evaluate_offline_partitions_with_a_missed_state_depends_on_silence(
    silence: tuple[float, float] | tuple[()], result: str
) -> None:
    events = [*CRASH[:2], state(16, 0, 1, [1], 2), state(16, 1, 1, [1], 1)]
    if silence:
        since, until = (round(at * SECOND) for at in silence)
        gap = {"stream": "zookeeper", "from": since, "to": until}
        events.append(second_event(silence[1], "recorder", "gap", "recorder", **gap))
    found = results(of_fault(offlinePartitions={"max": 0}, isrShrinks={"max": 2}), *events)
    assert found == {"down.offlinePartitions": result, "down.isrShrinks": "Met"}


@pytest.mark.parametrize(("until", "count"), [(16.004, 0), (16.999, 0), (17, 1), (50, 1)])
def test_evaluate_offline_partitions_counts_from_one_second_on(until: float, count: int) -> None:
    """The controller writes a state without a leader milliseconds ahead of the next leader's."""
    events = [*CRASH[:2], state(16, 0, -1, [1], 1), state(until, 0, 1, [1], 2)]
    expect = of_fault(offlinePartitions={"min": count, "max": count})
    assert set(results(expect, *events).values()) == {"Met"}


@pytest.mark.parametrize(
    ("isr", "registered", "count"),
    [([1], (2,), 0), ([1], (2, 17), 1), ([0], (2,), 1), ([1], (20,), 1), ([1], (), 1)],
)
def test_evaluate_offline_partitions_ignores_a_slow_election(
    isr: list[int], registered: tuple[float, ...], count: int
) -> None:
    """Seen on a busy machine: 2.7 s between the state without a leader and the next leader's."""
    events = [*CRASH[:2], state(16, 0, -1, isr, 1), state(18.7, 0, 1, [1], 2)]
    events += [second_event(at, "broker", "registered", "1", epoch=at) for at in registered]
    expect = of_fault(offlinePartitions={"min": count, "max": count})
    assert set(results(expect, *events).values()) == {"Met"}


@pytest.mark.parametrize(
    ("version", "registered", "result"),
    [(2, 0.5, "Met"), (2, 15, "NotEvaluated"), (3, 0.5, "NotEvaluated")],
)
def test_evaluate_offline_partitions_missed_in_a_silence_depends_on_registration(
    version: int, registered: float, result: str
) -> None:
    gap = {"stream": "zookeeper", "from": 14 * SECOND, "to": 17 * SECOND}
    events = [
        second_event(registered, "broker", "registered", "1"),
        *CRASH[:2],
        state(16, 0, 1, [1], version),
        state(16, 1, 1, [1], 1),
        second_event(17, "recorder", "gap", "recorder", **gap),
    ]
    found = results(of_fault(offlinePartitions={"max": 0}), *events)
    assert found == {"down.offlinePartitions": result}


def test_evaluate_isr_shrinks_with_a_missed_state_counts_each_partition_once() -> None:
    events = [*CRASH[:2], state(16, 0, 1, [1], 4), state(16, 1, 1, [1], 1)]
    for bounds, result in (({"min": 2, "max": 2}, "Met"), ({"max": 1}, "NotMet")):
        assert results(of_fault(isrShrinks=bounds), *events) == {"down.isrShrinks": result}
    unseen = [*CRASH[:2], state(16, 0, 1, [1], 1), state(16, 1, 1, [0, 1], 2)]
    assert results(of_fault(isrShrinks={"max": 1}), *unseen) == {"down.isrShrinks": "NotEvaluated"}


def test_evaluate_isr_restored_after_compares_the_recovery() -> None:
    whole = Recovery("down", 30 * SECOND, 34 * SECOND, None, 4 * SECOND, complete=True)
    never = replace(whole, isr_restored_at=None, complete=False)
    expect = of_fault(isrRestoredAfter={"max": "5s"})
    for recovery, result in ((whole, "Met"), (never, "NotMet")):
        assert list(results(expect, *CRASH, recoveries=[recovery]).values()) == [result]


def test_evaluate_isr_restored_after_of_complete_isrs_shows_no_duration() -> None:
    recovery = Recovery("down", 30 * SECOND, 30 * SECOND, None, 0, complete=True, affected=False)
    expect = of_fault(isrRestoredAfter={"max": "5s"})
    (found,) = evaluate(expectation_inputs(expect, *CRASH, recoveries=[recovery]))
    assert (found.result, found.observed) == ("Met", "every ISR was complete at the revert")


def test_evaluate_non_preferred_leaders_looks_at_the_last_state() -> None:
    assert results({"nonPreferredLeaders": {"max": 0}}, *CRASH) == {"nonPreferredLeaders": "NotMet"}
    back = [*CRASH, state(50, 0, 0, [0, 1], 3)]
    assert results({"nonPreferredLeaders": {"max": 0}}, *back) == {"nonPreferredLeaders": "Met"}


def test_evaluate_non_preferred_leaders_uses_the_last_reassignment() -> None:
    moves = [reassign("away", 1, 0), reassign("back", 0, 1)]
    proof = {"kind": "ReplicasMoved", "subject": "foo-0"}

    def effect(at: float, name: str) -> Event:
        return second_event(
            at, "fault", "observed", name, verified=True, observations=[proof | {"at": at * SECOND}]
        )

    def found(*events: Event) -> str:
        expect = {"nonPreferredLeaders": {"max": 0}}
        run = expecting_run(expect, faults=moves)
        (outcome,) = results(expect, *CRASH, *events, run=run).values()
        return outcome

    # Broker 1 leads foo-0 at the end, as the first move wants it and the second does not.
    assert found() == "NotMet"
    assert found(effect(20, "away")) == "Met"
    assert found(effect(20, "away"), effect(30, "back"), effect(31, "away")) == "NotMet"


def test_evaluate_in_isr_looks_at_the_last_state() -> None:
    expect = {"inIsr": [{"broker": 0, "max": 0}, {"broker": 1, "min": 2}]}
    assert results(expect, *CRASH[:4]) == {"inIsr 0": "Met", "inIsr 1": "Met"}
    assert results(expect, *CRASH) == {"inIsr 0": "NotMet", "inIsr 1": "Met"}
    assert set(results(expect).values()) == {"NotEvaluated"}


def silent_end(since: float) -> list[Event]:
    """ZooKeeper gave no answer from then until the recorder ended, at 70 s."""
    gap = {"stream": "zookeeper", "from": round(since * SECOND), "to": 70 * SECOND, "atEnd": True}
    return [
        second_event(0, "recorder", "started", "recorder"),
        second_event(70, "recorder", "gap", "recorder", **gap),
        second_event(70, "recorder", "stopped", "recorder"),
    ]


AT_THE_END = {"inIsr": [{"broker": 0, "max": 0}], "nonPreferredLeaders": {"min": 1}}


def test_evaluate_at_end_of_an_unobserved_end_decides_nothing() -> None:
    seen = [*CRASH[:4], *silent_end(20)]
    assert set(results(AT_THE_END, *seen).values()) == {"NotEvaluated"}


def test_evaluate_at_end_of_a_recorder_that_broke_off_decides_nothing() -> None:
    seen = [second_event(0, "recorder", "started", "recorder"), *CRASH[:4]]
    assert set(results(AT_THE_END, *seen).values()) == {"NotEvaluated"}


def test_evaluate_at_end_of_a_silence_after_the_run_looks_at_the_last_state() -> None:
    seen = [*CRASH[:4], *silent_end(60)]
    assert set(results(AT_THE_END, *seen).values()) == {"Met"}


@pytest.mark.parametrize(
    ("expect", "result"),
    [
        ({"leaderChanges": {"max": 1}}, "NotEvaluated"),
        ({"leaderChanges": {"min": 1}}, "Met"),
        ({"leaderChanges": {"max": 0}}, "NotMet"),
        ({"offlinePartitions": {"max": 0}}, "NotEvaluated"),
        ({"isrShrinkAfter": {"max": "7s"}}, "Met"),
        ({"isrRestoredAfter": {"max": "5s"}}, "NotEvaluated"),
    ],
)
def test_evaluate_of_a_fault_with_an_unobserved_end_decides_what_was_seen(
    expect: dict[str, Any], result: str
) -> None:
    never = Recovery("down", 30 * SECOND, None, None, 30 * SECOND, complete=False)
    seen = [*CRASH[:4], *silent_end(20)]
    assert list(results(of_fault(**expect), *seen, recoveries=[never]).values()) == [result]


def test_evaluate_isr_shrink_after_an_unobserved_end_without_a_shrink_is_not_evaluated() -> None:
    seen = [*CRASH[:2], *silent_end(12)]
    found = results(of_fault(isrShrinkAfter={"max": "7s"}), *seen)
    assert list(found.values()) == ["NotEvaluated"]


def test_evaluate_offline_partitions_counts_no_unobserved_time() -> None:
    vacant = [*CRASH[:2], state(16, 0, -1, [0], 1), *silent_end(16.5)]
    found = results(of_fault(offlinePartitions={"min": 1}), *vacant)
    assert list(found.values()) == ["NotEvaluated"]


@pytest.mark.parametrize("word", ["None", "Allowed", "Required"])
def test_evaluate_unclean_elections_with_an_unobserved_end_is_not_evaluated(word: str) -> None:
    found = results({"uncleanElections": word}, *CRASH, *silent_end(50))
    assert found == {"uncleanElections": "NotEvaluated"}


@pytest.mark.parametrize(
    ("word", "result"), [("None", "NotMet"), ("Allowed", "NotEvaluated"), ("Required", "Met")]
)
def test_evaluate_unclean_elections_with_an_unobserved_end_decides_by_one_that_was_seen(
    word: str, result: str
) -> None:
    unclean = [*CRASH[:2], state(16, 0, -1, [0], 1), state(31, 0, 1, [1], 2), *silent_end(50)]
    expect = {"uncleanElections": word}
    permitting = {"unclean.leader.election.enable": "true"}
    run = replace(expecting_run(expect), broker_config=permitting)
    assert results(expect, *unclean, run=run) == {"uncleanElections": result}
