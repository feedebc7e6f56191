"""What the pods of a run share: plan, control, scripts, service accounts, evidence, preflight."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from krt_contract.bundle import DEFAULT_CLAIM
from krt_contract.cluster_security import security_of
from krt_contract.control import (
    BOUNDS_KEY,
    END_OFFSETS_AT_KEY,
    END_OFFSETS_KEY,
    STATE_KEY,
    ControlState,
)
from krt_contract.kafka_security import FOLDER
from krt_contract.labels import ANNOTATION_APPLIED, LABEL_COMPONENT, PRODUCT, Component
from krt_contract.plan import PLAN_FILE
from krt_operator import names
from krt_operator.api.times import to_micros
from krt_operator.build.decorate import (
    applied_digest,
    decorate_objects,
    harden_pod,
    labels,
    selector,
)
from krt_operator.build.evidence import evidence_access
from krt_operator.build.kafka_secrets import kafka_secrets
from krt_operator.build.properties import properties
from krt_operator.build.render import as_yaml, render, script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json

ROLES: Final = {"recorder": "krt-recorder", "traffic": "krt-traffic", "scoring": "krt-driver"}
"""Service account suffix to the role of the chart; the controller may bind only these."""

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
KAFKA_CHECK: Final = "ls /opt/kafka/libs/kafka_2*.jar && java -version"
WITHOUT_ZOOKEEPER: Final = 7
"""Exit code of the check of Kafka's image where the image is without ZooKeeper."""
ZOOKEEPER_CHECK: Final = f"(ls /opt/kafka/libs/zookeeper-[0-9]*.jar || exit {WITHOUT_ZOOKEEPER})"
"""Kafka 4 has no ZooKeeper mode, and no ZooKeeper in its image."""
CLIENT_PROPERTIES: Final = "client.properties"
"""What Kafka's own tools log in to a secured cluster with, beside the scripts."""
CHECKS_CLIENTS: Final = "read"
"""The pod whose other check is the shorter one."""


def build_plan_map(plan: Plan) -> Json:
    """The immutable ConfigMap that holds the plan."""
    data = {PLAN_FILE: plan.to_json()}
    return _config_map(plan, names.plan(plan.name), data, immutable=True)


def build_control_map(  # noqa: PLR0913 (each is a key of the ConfigMap or says which one it is)
    plan: Plan,
    state: ControlState,
    *,
    end_offsets: Mapping[str, Mapping[str, int]] | None = None,
    bounds: Sequence[Mapping[str, Any]] | None = None,
    end_offsets_at: datetime | None = None,
    resource_version: str = "",
) -> Json:
    """The ConfigMap that traffic and recorder watch.

    Args:
        plan: the run's plan.
        state: what traffic and recorder shall do.
        end_offsets: topic to partition to the offset that consumers drain to.
        bounds: start and end offsets of each partition's log, for scoring.
        end_offsets_at: when consumers are given them.
        resource_version: of the ConfigMap this replaces, so that a stale controller cannot undo it.
    """
    data = {STATE_KEY: str(state)}
    if end_offsets is not None:
        data[END_OFFSETS_KEY] = json.dumps(end_offsets, sort_keys=True)
    if bounds is not None:
        data[BOUNDS_KEY] = json.dumps(list(bounds), sort_keys=True)
    if end_offsets_at is not None:
        data[END_OFFSETS_AT_KEY] = str(to_micros(end_offsets_at))
    control = _config_map(plan, names.control(plan.name), data)
    if resource_version:
        control["metadata"]["resourceVersion"] = resource_version
    return control


def with_state(control: Json, state: ControlState) -> Json:
    """The control ConfigMap as it was read, in another state; needs no plan.

    Args:
        control: as the API server gave it.
        state: what traffic and recorder shall do.
    """
    metadata = control["metadata"]
    kept = ("name", "namespace", "labels", "ownerReferences")
    following: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {key: metadata[key] for key in kept if key in metadata},
        "data": {**control["data"], STATE_KEY: str(state)},
    }
    following["metadata"]["annotations"] = {ANNOTATION_APPLIED: applied_digest(following)}
    following["metadata"]["resourceVersion"] = metadata["resourceVersion"]
    return following


def build_scripts_map(plan: Plan, pull_policy: str) -> Json:
    """The ConfigMap with the scripts that pods run, and the pod template of the executors."""
    scripts = {
        name: script(name)
        for name in ("member.sh", "serves.sh", "preflight.sh", "reassign.sh", "dump.sh")
    }
    data = {**scripts, "executor.yaml": build_executor_template(plan, pull_policy)}
    if plan.spec.kafka.security is not None:
        # No value is a secret: Kafka's tools read those from the files that their pods mount.
        data[CLIENT_PROPERTIES] = properties(security_of(plan).java_settings(FOLDER))
    return _config_map(plan, names.scripts(plan.name), data)


def build_executor_template(plan: Plan, pull_policy: str) -> str:
    """The pod template of Spark's executors: no token, restricted, owned by the driver alone."""
    pod = render(
        "executor.yaml.j2",
        evidence=evidence_access(plan),
        kafka=kafka_secrets(plan),
        driver=selector(plan, component=Component.SCORING),
    )[0]
    harden_pod(pod, plan, labels(plan, Component.SCORING, "scoring"), pull_policy)
    del pod["metadata"]["name"]
    return as_yaml(pod)


def build_service_accounts(
    plan: Plan, role_kind: str, annotations: Mapping[str, str]
) -> list[Json]:
    """The ServiceAccounts and the RoleBindings that grant them the chart's roles.

    Args:
        plan: of the run.
        role_kind: ClusterRole, or Role where the chart created the roles in each namespace.
        annotations: by which a cloud provider gives the accounts an identity.
    """
    built: list[Json] = []
    for suffix, role in ROLES.items():
        objects = render(
            "account.yaml.j2",
            name=f"{plan.name}-{suffix}",
            annotations=annotations,
            role=role,
            role_kind=role_kind,
            namespace=plan.namespace,
        )
        built.extend(decorate_objects(objects, plan, ACCOUNT_COMPONENTS[suffix]))
    return built


def build_evidence_claim(plan: Plan, storage_class: str) -> Json:
    """The evidence claim where the controller creates it: no owner, so it outlives the run."""
    claim = render("evidence-claim.yaml.j2", name=DEFAULT_CLAIM, storage_class=storage_class)[0]
    claim["metadata"]["namespace"] = plan.namespace
    claim["metadata"]["labels"] = {
        "app.kubernetes.io/part-of": PRODUCT,
        LABEL_COMPONENT: str(Component.EVIDENCE),
    }
    return claim


def build_preflight_pods(plan: Plan, pull_policy: str) -> list[Json]:
    """Two pods on two nodes that exchange evidence; each also checks one of the images.

    The first checks Kafka's image (jars, Java and bash are present), the second the scoring image,
    and that the Kafka client takes the settings of producers and consumers and, where somebody else
    runs the cluster, that it reaches every broker.
    """
    checks = {
        "write": _kafka_check(plan),
        "read": (plan.images["scoring"], ["python3", "-c", "import krt_scoring"]),
    }
    pods: list[Json] = []
    for own, other in (PREFLIGHT_ROLES, PREFLIGHT_ROLES[::-1]):
        image, check_command = checks[own]
        separate = {
            "labelSelector": {"matchLabels": selector(plan, component=Component.PREFLIGHT)},
            "topologyKey": "kubernetes.io/hostname",
        }
        objects = render(
            "preflight-pod.yaml.j2",
            name=names.preflight_pod(plan.name, own),
            affinity={
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [separate]}
            },
            checked_image=image,
            check=check_command,
            image=plan.images["traffic"],
            uid=plan.uid,
            namespace=plan.namespace,
            test=plan.name,
            control=names.control(plan.name),
            plan=names.plan(plan.name) if own == CHECKS_CLIENTS else "",
            resources=PREFLIGHT_RESOURCES,
            scripts=names.scripts(plan.name),
            command=_exchange(plan, own, other),
            evidence=evidence_access(plan),
            kafka=kafka_secrets(plan),
        )
        pods.extend(
            decorate_objects(objects, plan, Component.PREFLIGHT, f"preflight-{own}", pull_policy)
        )
    return pods


def _kafka_check(plan: Plan) -> tuple[str, list[str]]:
    """An image, and the command that checks it: no broker is deployed where there are some."""
    if plan.metadata.referenced:
        return plan.images["traffic"], ["python3", "-c", "import krt_traffic"]
    check = KAFKA_CHECK if plan.spec.kraft else f"{KAFKA_CHECK} && {ZOOKEEPER_CHECK}"
    return plan.images["kafka"], ["/bin/bash", "-c", check]


def _exchange(plan: Plan, own: str, other: str) -> list[str]:
    """The command that shows that what one pod writes is read by another."""
    if plan.spec.evidence.object_store is not None:
        return ["python3", "-m", "krt_traffic.exchange", own, other]
    return ["/bin/bash", "/krt/scripts/preflight.sh", own, other]


def _config_map(plan: Plan, name: str, data: Mapping[str, str], *, immutable: bool = False) -> Json:
    objects = render("config.yaml.j2", name=name, data=dict(data), immutable=immutable)
    return decorate_objects(objects, plan, Component.PLAN)[0]
