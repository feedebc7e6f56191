from __future__ import annotations

from krt_operator.api.spec import Action
from krt_operator.faults.registry import ACTIONS
from krt_operator.faults.verification import IMPLIED


def test_registry_every_action_of_the_api_is_implemented() -> None:
    assert set(ACTIONS) == set(Action)


def test_registry_every_action_has_observations_that_verify_it() -> None:
    assert set(IMPLIED) == set(Action)
    assert all(IMPLIED.values())
