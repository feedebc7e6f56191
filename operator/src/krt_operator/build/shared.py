"""What all pods of a run share: the plan, the control, scripts, accounts, the evidence claim."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from krt_contract.control import BOUNDS_KEY, END_OFFSETS_KEY, STATE_KEY, ControlState
from krt_contract.labels import LABEL_COMPONENT, PRODUCT, Component
from krt_contract.plan import PLAN_FILE
from krt_operator import names
from krt_operator.build.decorate import (
    decorate,
    harden,
    labels,
    selector,
)
from krt_operator.build.render import as_yaml, render, script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from krt_operator.engine.views import Json
    from krt_operator.plan.plan import Plan

ROLES: Final = {"recorder": "krt-recorder", "traffic": "krt-traffic", "scoring": "krt-driver"}
"""Account suffix to the ClusterRole the chart installs; the controller may bind these alone."""

ACCOUNT_COMPONENTS: Final = {
    "recorder": Component.RECORDER,
    "traffic": Component.PRODUCER,
    "scoring": Component.SCORING,
}
"""Account suffix to the component label of its objects."""

PREFLIGHT_RESOURCES: Final[Json] = {
    "requests": {"cpu": "10m", "memory": "32Mi"},
    "limits": {"memory": "128Mi"},
}
PREFLIGHT_ROLES: Final = ("write", "read")


def plan_map(plan: Plan) -> Json:
    """The ConfigMap of the plan, immutable."""
    data = {PLAN_FILE: plan.to_json()}
    return _config_map(plan, names.plan(plan.name), data, immutable=True)


def control_map(
    plan: Plan,
    state: ControlState,
    *,
    end_offsets: Mapping[str, Mapping[str, int]] | None = None,
    bounds: Sequence[Mapping[str, Any]] | None = None,
    resource_version: str = "",
) -> Json:
    """The ConfigMap that traffic and recorder watch.

    Args:
        plan: of the run.
        state: what traffic and recorder are to do.
        end_offsets: topic to partition to the offset to drain to.
        bounds: the log's bounds as read, for scoring.
        resource_version: of the map this follows, so that no stale controller turns it back.
    """
    data = {STATE_KEY: str(state)}
    if end_offsets is not None:
        data[END_OFFSETS_KEY] = json.dumps(end_offsets, sort_keys=True)
    if bounds is not None:
        data[BOUNDS_KEY] = json.dumps(list(bounds), sort_keys=True)
    found = _config_map(plan, names.control(plan.name), data)
    if resource_version:
        found["metadata"]["resourceVersion"] = resource_version
    return found


def scripts_map(plan: Plan, pull: str) -> Json:
    """The ConfigMap of what members, preflight, tools and executors run."""
    scripts = {
        name: script(name)
        for name in ("member.sh", "serves.sh", "preflight.sh", "reassign.sh", "dump.sh")
    }
    data = {**scripts, "executor.yaml": executor_template(plan, pull)}
    return _config_map(plan, names.scripts(plan.name), data)


def executor_template(plan: Plan, pull: str) -> str:
    """The pod template Spark makes executors from: no token, restricted, one owner (the driver)."""
    pod = render(
        "executor.yaml.j2",
        claim=plan.spec.evidence.claim_name,
        driver=selector(plan, component=Component.SCORING),
    )[0]
    harden(pod, plan, labels(plan, Component.SCORING, "scoring"), pull)
    del pod["metadata"]["name"]
    return as_yaml(pod)


def accounts(plan: Plan) -> list[Json]:
    """ServiceAccounts and the RoleBindings that give them what the chart's roles allow."""
    found: list[Json] = []
    for suffix, role in ROLES.items():
        objects = render(
            "account.yaml.j2",
            name=f"{plan.name}-{suffix}",
            role=role,
            namespace=plan.namespace,
        )
        found.extend(decorate(objects, plan, ACCOUNT_COMPONENTS[suffix]))
    return found


def evidence_claim(plan: Plan, storage_class: str) -> Json:
    """The claim where the controller makes it: no owner, no run's labels, never deleted by us."""
    claim = render(
        "evidence-claim.yaml.j2", name=plan.spec.evidence.claim_name, storage_class=storage_class
    )[0]
    claim["metadata"]["namespace"] = plan.namespace
    claim["metadata"]["labels"] = {
        "app.kubernetes.io/part-of": PRODUCT,
        LABEL_COMPONENT: str(Component.EVIDENCE),
    }
    return claim


def preflight_pods(plan: Plan, pull: str) -> list[Json]:
    """Two pods on two nodes that exchange files; each also checks an image it starts from.

    The first runs Kafka's image (its jars, Java and bash are there), the second the scoring image.
    """
    kafka = ["/bin/bash", "-c", "ls /opt/kafka/libs/kafka_2*.jar && java -version"]
    checks = {
        "write": (plan.images["kafka"], kafka),
        "read": (plan.images["scoring"], ["python3", "-c", "import krt_scoring"]),
    }
    found: list[Json] = []
    for mine, theirs in (PREFLIGHT_ROLES, PREFLIGHT_ROLES[::-1]):
        image, command = checks[mine]
        apart = {
            "labelSelector": {"matchLabels": selector(plan, component=Component.PREFLIGHT)},
            "topologyKey": "kubernetes.io/hostname",
        }
        objects = render(
            "preflight-pod.yaml.j2",
            name=names.preflight_pod(plan.name, mine),
            affinity={
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
            },
            checked_image=image,
            check=command,
            image=plan.images["traffic"],
            mine=mine,
            theirs=theirs,
            uid=plan.uid,
            resources=PREFLIGHT_RESOURCES,
            scripts=names.scripts(plan.name),
            claim=plan.spec.evidence.claim_name,
        )
        found.extend(decorate(objects, plan, Component.PREFLIGHT, f"preflight-{mine}", pull))
    return found


def _config_map(plan: Plan, name: str, data: Mapping[str, str], *, immutable: bool = False) -> Json:
    objects = render("config.yaml.j2", name=name, data=dict(data), immutable=immutable)
    return decorate(objects, plan, Component.PLAN)[0]
