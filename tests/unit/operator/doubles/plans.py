"""The plan of the sample, or of what a test makes of it, without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from krt_operator.api.spec import Spec
from krt_operator.app.settings import Settings
from krt_operator.engine.progress import Run
from krt_operator.plan.placement import assign
from krt_operator.plan.planning import make_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from krt_operator.api.plan import Plan
    from krt_operator.plan.reference import ReferencedCluster

ROOT = Path(__file__).resolve().parents[4]


def sample_plan(
    change: Callable[[Any], object] | None = None,
    manifest: str = "sample.yaml",
    reference: ReferencedCluster | None = None,
    name: str = "",
) -> Plan:
    """Return the plan of a sample, after `change` has edited its spec in place.

    Args:
        change: edits the spec.
        manifest: the sample.
        reference: the cluster of a test that deploys none.
        name: of the test; empty: the sample's.
    """
    resource = yaml.safe_load((ROOT / "manifests" / manifest).read_text())
    if change is not None:
        change(resource["spec"])
    spec = Spec.model_validate(resource["spec"]).resolve()
    run: Any = Run.__new__(Run)
    for attribute, value in {
        "namespace": "tests",
        "name": name or resource["metadata"]["name"],
        "uid": "00000000-0000-0000-0000-000000000001",
        "spec": spec,
    }.items():
        object.__setattr__(run, attribute, value)
    nodes = {"zone-a": 2, "zone-b": 2, "zone-c": 2}
    zones = assign(spec, nodes) if reference is None else ([], [])
    settings = Settings(
        image_operator="operator:1",
        image_traffic="traffic:1",
        image_scoring="scoring:1",
        image_kafka="kafka:1",
        image_kafka_kraft="kafka:4",
    )
    versions = {"operator": "0", "kubernetes": "v1.34.2"}
    return make_plan(run, zones, settings, versions, reference)
