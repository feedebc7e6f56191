from __future__ import annotations

from pathlib import Path

import pytest

from krt_traffic.environment import PIPE, TERMINATION_LOG, Environment
from krt_traffic.errors import UnusableError

VARIABLES = {
    "HOME": "/",
    "KRT_PLAN": "/plan/plan.json",
    "KRT_EVIDENCE": "/evidence",
    "KRT_CONTROL": "t-control",
    "KRT_NAMESPACE": "ns",
    "KRT_TEST": "t",
    "KRT_TEST_UID": "run-1",
    "KRT_POD": "t-recorder",
    "KRT_POD_UID": "p1",
}


def test_read_with_required_variables_takes_defaults_for_the_others() -> None:
    environment = Environment.read(VARIABLES)
    assert (environment.plan, environment.pod_uid) == (Path("/plan/plan.json"), "p1")
    assert (environment.name, environment.replica) == ("", 0)
    assert (environment.pipe, environment.termination_log) == (PIPE, TERMINATION_LOG)
    assert environment.metrics_port == 0


def test_member_is_made_of_name_and_replica() -> None:
    assert Environment.read(VARIABLES | {"KRT_NAME": "main", "KRT_REPLICA": "2"}).member == "main-2"


@pytest.mark.parametrize("name", sorted(set(VARIABLES) - {"HOME"}))
def test_read_without_a_required_variable_names_it(name: str) -> None:
    rest = {key: value for key, value in VARIABLES.items() if key != name}
    for variables in (rest, rest | {name: ""}):
        with pytest.raises(UnusableError, match=f"{name}\\b"):
            Environment.read(variables)


@pytest.mark.parametrize("replica", ["", "-1", "one", "1.5"])
def test_read_with_a_malformed_replica_names_it(replica: str) -> None:
    with pytest.raises(UnusableError, match="KRT_REPLICA"):
        Environment.read(VARIABLES | {"KRT_REPLICA": replica})
