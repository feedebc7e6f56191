"""The scenarios: each can be applied as it is, says its claim, and claims what can be judged."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from krt_contract.labels import API_VERSION, KIND
from krt_operator.api.expect import Expect
from krt_operator.api.resource import MAX_NAME
from krt_operator.api.spec import Action, Spec
from krt_operator.api.status import Status
from krt_operator.app.settings import Settings
from krt_operator.engine.progress import Run
from krt_operator.errors import UserError
from krt_operator.plan.feasibility import check
from krt_operator.plan.placement import assign
from krt_operator.plan.planning import make_plan

if TYPE_CHECKING:
    from krt_operator.api.plan import Plan

ROOT = Path(__file__).parents[4]
SCENARIOS = sorted((ROOT / "manifests/scenarios").glob("*.yaml"))
ZONES = [
    node["labels"]["topology.kubernetes.io/zone"]
    for node in yaml.safe_load((ROOT / "kind-config.yaml").read_text())["nodes"]
    if node["role"] == "worker"
]


def load(path: Path) -> Spec:
    body = yaml.safe_load(path.read_text())
    assert (body["apiVersion"], body["kind"]) == (API_VERSION, KIND)
    assert body["metadata"] == {"name": path.stem}
    assert len(path.stem) <= MAX_NAME
    return Spec.model_validate(body["spec"]).resolve()


def test_scenarios_exist() -> None:
    assert len(SCENARIOS) > 30


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_scenario_states_and_sets_its_expectation(path: Path) -> None:
    spec = load(path)
    head = path.read_text().split("apiVersion:", maxsplit=1)[0]
    assert all(line.startswith("#") for line in head.splitlines())
    assert "# Expected behaviour: " in head
    assert spec.expect != Expect()


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_scenario_fits_the_cluster_of_the_repository(path: Path) -> None:
    spec = load(path)
    if spec.kafka.rack.topology_key == "kubernetes.io/hostname":
        nodes = {f"krt-worker{number}": 1 for number in range(len(ZONES))}
    else:
        nodes = {zone: ZONES.count(zone) for zone in sorted(set(ZONES))}
    if spec.expect.error is None:
        # A zone by name is one of this cluster's; a scenario is for any.
        assert not any(fault.target.zone for fault in spec.faults)
        check(plan(path.stem, spec, nodes))
    else:
        with pytest.raises(UserError) as error:
            assign(spec, nodes)
        assert error.value.reason == spec.expect.error


CUTS = {"acks-0", "acks-1", "acks-1-must-lose"}
"""Scenarios in which a leader's own records are cut when it comes back."""

LAST_ONE = {"no-isr-left-clean", "no-isr-left-unclean", "all-down-wait", "all-down-elect"}
"""Scenarios in which the last replica in sync goes."""

DISKS = {"disk-lost", "disk-lost-alone", "persistent-storage"}


def test_scenarios_about_disks_and_truncation_compare_replicas() -> None:
    comparing = {path.stem for path in SCENARIOS if load(path).evidence.compare_replicas}
    assert comparing == CUTS | LAST_ONE | DISKS
    for path in SCENARIOS:
        if any(fault.action is Action.LOSE_DISK for fault in load(path).faults):
            assert path.stem in comparing


def plan(name: str, spec: Spec, nodes: dict[str, int]) -> Plan:
    run = Run(
        namespace="tests",
        name=name,
        uid="u",
        spec=spec,
        status=Status(),
        created=datetime(2026, 11, 21, tzinfo=UTC),
        raw={},
        plan=None,
    )
    settings = Settings(
        image_operator="operator:1",
        image_traffic="traffic:1",
        image_scoring="scoring:1",
        image_kafka="kafka:1",
    )
    return make_plan(run, assign(spec, nodes), settings, {})
