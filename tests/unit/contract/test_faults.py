from __future__ import annotations

from krt_contract.faults import IMPLIED, Action, ObservationKind, implied_by
from krt_operator.faults.registry import ACTIONS


def test_every_action_implies_observations_and_is_implemented() -> None:
    assert set(IMPLIED) == set(Action) == set(ACTIONS)
    assert all(IMPLIED.values())


def test_implied_by_known_action_is_its_row_of_the_table() -> None:
    assert implied_by("CrashPod") == {ObservationKind.PROCESS_KILLED}
    assert implied_by("EvictPod") == {
        ObservationKind.POD_DELETED,
        ObservationKind.EVICTION_REFUSED,
    }


def test_implied_by_unknown_action_is_nothing() -> None:
    assert implied_by("Explode") == frozenset()
    assert implied_by("") == frozenset()
