"""The chart as rendered with default values (that manifests/operator.yaml is current is checked
where helm is: tests/contract/chart)."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

from krt_operator.app.settings import CHART_VALUES, Settings
from krt_operator.kubernetes.kinds import KINDS

ROOT = Path(__file__).parents[3]
CHART = ROOT / "helm/kafka-resilience"
OBJECTS: list[dict[str, Any]] = [
    one for one in yaml.safe_load_all((ROOT / "manifests/operator.yaml").read_text()) if one
]
ROLES = {one["metadata"]["name"]: one["rules"] for one in OBJECTS if one["kind"] == "ClusterRole"}


def granted(role: str) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in ROLES[role]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("role", ROLES)
def test_no_role_holds_a_wildcard_reads_secrets_or_reaches_exec(role: str) -> None:
    for group, resource, verb in granted(role):
        assert "*" not in {group, resource, verb}
        assert resource not in {"pods/exec", "clusterrolebindings"}
        assert resource != "secrets" or (role, verb) == ("krt-controller", "create")
        assert verb not in {"escalate", "impersonate"}


@pytest.mark.parametrize("file", ["controller", "tests", "users"])
def test_every_rule_says_why(file: str) -> None:
    lines = (CHART / f"templates/rbac/{file}.yaml").read_text().splitlines()
    for before, line in itertools.pairwise(lines):
        if line.startswith("  - apiGroups"):
            shared = before.startswith("    verbs") and "rbac.authorization" in line
            assert before.startswith("  #") or shared, line


UNGRANTED = {"Secret", "NetworkPolicy"}
"""What the controller creates unread, and what it has rights on only where a value asks for it."""


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - UNGRANTED))
def test_the_controller_may_reach_every_kind_it_touches(kind: str) -> None:
    place = KINDS[kind]
    group = place.root.split("/")[2] if place.root.startswith("/apis/") else ""
    both = granted("krt-controller") | granted("krt-controller-cluster")
    assert any((group, place.plural) == found[:2] for found in both)


def test_the_driver_may_change_pods_and_read_and_write_its_config_maps_alone() -> None:
    pods = {"get", "list", "watch", "create", "patch", "delete", "deletecollection"}
    assert granted("krt-driver") == {
        *(("", "pods", verb) for verb in pods),
        *(("", "configmaps", verb) for verb in ("create", "get", "patch")),
    }


@pytest.mark.parametrize("role", ["krt-driver", "krt-recorder", "krt-traffic"])
def test_pods_of_a_test_may_not_touch_claims(role: str) -> None:
    assert not {found for found in granted(role) if found[1] == "persistentvolumeclaims"}


def test_it_binds_the_roles_of_tests_and_no_others() -> None:
    (rule,) = [rule for rule in ROLES["krt-controller"] if "bind" in rule["verbs"]]
    assert rule["resourceNames"] == ["krt-driver", "krt-recorder", "krt-traffic"]
    assert rule["resources"] == ["clusterroles"]
    assert set(rule["resourceNames"]) <= ROLES.keys()


def test_one_controller_under_restricted_pod_security() -> None:
    (deployment,) = [one for one in OBJECTS if one["kind"] == "Deployment"]
    spec = deployment["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    pod = spec["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"] == "200Mi"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"


def test_the_controller_is_told_what_its_settings_read() -> None:
    (deployment,) = [one for one in OBJECTS if one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    names = {one["name"] for one in container["env"]}
    # The rendered manifest is without an object store; tests/contract/chart has one with it.
    named = {name for name in Settings.model_fields if not name.startswith("store_")}
    assert {f"KRT_{name.upper()}" for name in named} <= names
    assert set(CHART_VALUES) == set(Settings.model_fields)
