"""The table of partitions before, during and after each fault."""

from __future__ import annotations

from tests.unit.scoring.builders import (
    CRASH,
    SECOND,
    expectation_inputs,
    expecting_run,
    reassign,
    second_event,
)

from krt_scoring.metrics import partitions


def test_tables_after_a_reassignment_has_its_replicas() -> None:
    observations = [{"kind": "ReplicasMoved", "subject": "foo-0", "at": 5 * SECOND}]
    detail = {"verified": True, "observations": observations}
    moved = expectation_inputs(
        {},
        *CRASH,
        second_event(5, "fault", "observed", "away", **detail),
        run=expecting_run({}, faults=[reassign("away", 1, 0)]),
    )
    first, second = partitions.tables(moved.states, moved.recording.faults, moved.end)
    assert (first["replicas"], second["replicas"]) == ([1, 0], [1, 0])


def test_tables_shows_before_worst_and_after() -> None:
    found = expectation_inputs({}, *CRASH)
    first, second = partitions.tables(found.states, found.recording.faults, found.end)
    assert (first["fault"], first["topic"], first["partition"]) == ("down", "foo", 0)
    assert first["replicas"] == [0, 1]
    moments = [(first[m]["leader"], first[m]["isr"]) for m in ("before", "worst", "after")]
    assert moments == [(0, [0, 1]), (1, [1]), (1, [0, 1])]
    assert second["replicas"] == [1, 0]
