"""The driver waits for the run's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from tests.unit.scoring.api_double import Api

from krt_contract.control import BOUNDED, ControlState
from krt_scoring.errors import ControlError
from krt_scoring.inputs import control

if TYPE_CHECKING:
    from collections.abc import Collection


def control_map(state: str, **data: str) -> dict[str, Any]:
    return {
        "kind": "ConfigMap",
        "metadata": {"name": "t-control"},
        "data": {"state": state, **data},
    }


def wait_for(states: Collection[ControlState], api: Api) -> dict[str, str]:
    return control.wait_for(states, "ns", "t-control", api.connect)


def test_wait_for_a_state_returns_the_data_that_it_comes_with(pauses: list[float]) -> None:
    api = Api(
        control_map("StopProducing"),
        control_map("DrainTransforms", bounds="[1]"),
        control_map("Drain", bounds="[2]"),
    )
    assert wait_for(BOUNDED, api)["bounds"] == "[2]"
    assert pauses == [control.PAUSE] * 2
    assert set(api.requests) == {"/api/v1/namespaces/ns/configmaps/t-control"}


def test_wait_for_a_state_that_is_passed_already_returns_at_once(pauses: list[float]) -> None:
    assert wait_for(BOUNDED, Api(control_map("Score", bounds="[]")))["state"] == "Score"
    assert pauses == []


@pytest.mark.parametrize("step", [429, 500, 503, httpx2.ConnectError("refused")])
def test_wait_for_a_server_that_is_away_asks_again(
    pauses: list[float], step: int | Exception
) -> None:
    assert wait_for({ControlState.SCORE}, Api(step, step, control_map("Score")))
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (404, "t-control is gone: the test was deleted"),
        (403, "grant the driver's service account get on configmaps"),
        (control_map("Abort"), "the run was aborted"),
    ],
)
def test_wait_for_a_run_that_is_over_names_the_reason(
    pauses: list[float], step: int | dict[str, Any], message: str
) -> None:
    with pytest.raises(ControlError, match=message):
        wait_for({ControlState.SCORE}, Api(control_map("Done"), step))
    assert pauses == [control.PAUSE]
