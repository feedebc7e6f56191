"""A controller that may read nothing outside the namespaces of its tests."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.unit.operator.doubles.world import SETTINGS

from krt_operator.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

CLUSTER_WIDE = {"Node", "StorageClass"}


@pytest.fixture
def confined(make_world: Callable[..., World]) -> World:
    """A world whose test names its zones, and whose controller may not read nodes or classes."""
    world = make_world(
        kafka={
            "rack": {"zones": ["zone-a", "zone-b", "zone-c"]},
            "storage": {"storageClassName": "fast"},
        }
    )
    _confine(world)
    return world


def _confine(world: World) -> None:
    world.answers = lambda _verb, kind, _name: (
        RefusedError(f"HTTP 403: {kind} is forbidden") if kind in CLUSTER_WIDE else None
    )


def test_run_without_cluster_rights_completes_and_binds_roles(confined: World) -> None:
    settings = SETTINGS.model_copy(update={"role_kind": "Role"})
    controller = confined.controller(settings)
    confined.run(until="Warmup", controller=controller)
    bindings = [
        one["roleRef"] for (kind, _), one in confined.objects.items() if kind == "RoleBinding"
    ]
    assert {(one["kind"], one["name"]) for one in bindings} == {
        ("Role", "krt-driver"),
        ("Role", "krt-recorder"),
        ("Role", "krt-traffic"),
    }
    assert confined.run(controller=controller)["phase"] == "Completed"


def test_placement_without_cluster_rights_and_zones_names_the_field(world: World) -> None:
    _confine(world)
    assert world.run()["phase"] == "Error"
    condition = world.condition("Provisioned")
    assert condition["reason"] == "TooFewZones"
    assert "spec.kafka.rack.zones" in condition["message"]


def test_evidence_claim_of_an_unreadable_class_is_bound_by_the_preflight_pods(
    confined: World,
) -> None:
    confined.binding_mode = "WaitForFirstConsumer"
    assert confined.run()["phase"] == "Completed"


def test_evidence_claim_of_an_unreadable_class_that_is_never_bound_ends_the_run(
    confined: World,
) -> None:
    confined.binding = timedelta(days=1)
    assert confined.run()["phase"] == "Error"
    assert confined.condition("Provisioned")["reason"] == "PreflightTimedOut"
