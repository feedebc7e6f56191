"""What each service account may do, as a sorted table, from the chart's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from krt_operator.build.shared import ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable

HEAD = "account | where | API group | resource | names | verbs"


def access_table(objects: Iterable[dict[str, Any]]) -> list[str]:
    """One line for each account, place and resource that a role grants.

    The accounts of a test (`<test>-recorder` and so on) are not in the chart: the controller binds
    them in the namespace of the test.
    """
    objects = list(objects)
    roles = {
        one["metadata"]["name"]: one["rules"]
        for one in objects
        if one["kind"] in {"ClusterRole", "Role"}
    }
    lines = set()
    for binding in objects:
        if binding["kind"] not in {"ClusterRoleBinding", "RoleBinding"}:
            continue
        where = binding["metadata"].get("namespace", "every namespace")
        for subject in binding["subjects"]:
            lines |= _granted(subject["name"], where, roles[binding["roleRef"]["name"]])
    for suffix, role in ROLES.items():
        lines |= _granted(f"<test>-{suffix}", "namespace of the test", roles[role])
    return sorted(lines)


def _granted(account: str, where: str, rules: list[dict[str, Any]]) -> set[str]:
    return {
        " | ".join(
            [
                account,
                where,
                group or "core",
                resource,
                ", ".join(sorted(rule.get("resourceNames", ()))) or "all",
                ", ".join(sorted(rule["verbs"])),
            ]
        )
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
