from __future__ import annotations

from typing import Any

import pytest
from tests.unit.operator.faults.doubles.cluster import SimulatedCluster

from krt_operator.errors import UserError
from krt_operator.plan.feasibility import check


def fault(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "action": "CrashPod", "duration": "20s"} | fields


def test_check_possible_fault_is_accepted() -> None:
    check(SimulatedCluster([fault("a", target={"role": "Rack", "zone": "zone-b"})]).plan)


def test_check_zone_without_brokers_names_the_zones_that_have_some() -> None:
    sim = SimulatedCluster([fault("a", target={"role": "Rack", "zone": "zone-x"})])
    with pytest.raises(UserError) as caught:
        check(sim.plan)
    assert caught.value.field == "spec.faults[a].target.zone"
    assert caught.value.message.endswith("choose one of zone-a, zone-b, zone-c")


def test_check_colliding_faults_are_refused() -> None:
    target = {"role": "Broker", "ordinals": [1]}
    second = fault("b", target=target, startsAfter={"event": "Started"})
    with pytest.raises(UserError, match="targets kafka-1 while a is open on it"):
        check(SimulatedCluster([fault("a", target=target), second]).plan)


def test_check_more_targets_than_there_are_is_refused() -> None:
    sim = SimulatedCluster([fault("a", target={"role": "Consumer", "count": 3})])
    with pytest.raises(UserError) as caught:
        check(sim.plan)
    assert caught.value.field == "spec.faults[a].target"
    assert caught.value.message.startswith("3 targets of role Consumer are requested and 2 exist")
