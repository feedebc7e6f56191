"""Whether faults can act on the pods of somebody else's brokers, before anything is built.

A fault chooses its broker when it is due, so each broker that it may choose is checked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from krt_operator.api.spec import Action, Role
from krt_operator.engine.ownership import BROKER_POD_RULES
from krt_operator.errors import KafkaAccessError, TransientError, UserError
from krt_operator.faults.action import UnresolvedTargetError
from krt_operator.faults.broker_pods import (
    DELETING,
    SIGNALLING,
    find_pod,
    why_not_durable,
    why_not_managed,
    why_not_restarted,
    why_not_signalled,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from krt_operator.api.broker_pods import BrokerPods
    from krt_operator.api.spec import Fault, Spec
    from krt_operator.engine.ports import Ports
    from krt_operator.engine.views import Json
    from krt_operator.kafka.views import Broker
    from krt_operator.plan.reference import ReferencedCluster

FIELD: Final = "spec.kafkaRef.pods"

NEEDED_BY: Final = {
    "delete pods": DELETING,
    "patch pods/ephemeralcontainers": SIGNALLING,
}
"""Right to the actions that need it; every action needs the other rights."""

ACCOUNT: Final = "system:serviceaccount:"
"""How the user that is a service account begins; namespace and name follow."""


def check_broker_pods(spec: Spec, namespace: str, cluster: ReferencedCluster, ports: Ports) -> None:
    """Refuse a fault that could not be injected on one of the brokers that it may choose.

    Args:
        spec: the faults, and whose pods they may act on.
        namespace: of the test.
        cluster: the brokers.
        ports: the API server and DNS.

    Raises:
        UserError: TooFewTargets, FaultUnsupported or BrokerPodUnusable.
        KafkaAccessError: BrokerPodsForbidden or BrokerPodNotFound. Both may soon be over: a right
            is granted together with the test, or a broker is just being restarted.
    """
    pods = spec.broker_pods
    if pods is None:
        return
    needed: dict[int, tuple[Broker, set[Action]]] = {}
    for fault in spec.broker_faults:
        _check_controller(fault, cluster)
        for broker in _eligible(fault, cluster):
            needed.setdefault(broker.id, (broker, set()))[1].add(fault.action)
    where = pods.namespace or namespace
    access = ports.broker_pods(where, pods.selector.match_labels)
    actions = {fault.action for fault in spec.broker_faults}
    missing = [
        right for right in access.missing_rights() if NEEDED_BY.get(right, actions) & actions
    ]
    if missing:
        raise KafkaAccessError(
            "BrokerPodsForbidden", FIELD, _forbidden(missing, where, access.account())
        )
    listed = access.list()
    found = [
        (_find(broker, where, listed, ports), each) for _, (broker, each) in sorted(needed.items())
    ]
    for pod, each in found:
        _check_usable(pods, pod, each)


def _check_controller(fault: Fault, cluster: ReferencedCluster) -> None:
    """In KRaft mode, brokers answer with any broker in place of the controller."""
    target = fault.target
    if not cluster.kraft or not (target.role is Role.CONTROLLER or target.exclude_controller):
        return
    field = "role" if target.role is Role.CONTROLLER else "excludeController"
    raise UserError(
        "FaultUnsupported",
        f"spec.faults[{fault.name}].target.{field}",
        "the cluster of spec.kafkaRef is in KRaft mode, in which brokers do not tell clients who "
        "the active controller is; target a broker by another role, or use External",
    )


def _eligible(fault: Fault, cluster: ReferencedCluster) -> list[Broker]:
    """The brokers that the fault may hit."""
    target = fault.target
    by_id = {broker.id: broker for broker in cluster.brokers}
    unknown = [number for number in target.ordinals if number not in by_id]
    exist = f"the cluster of spec.kafkaRef has the brokers {', '.join(map(str, sorted(by_id)))}"
    if unknown:
        raise UserError(
            "TooFewTargets",
            f"spec.faults[{fault.name}].target.ordinals",
            f"there is no broker {unknown[0]}: {exist}; name their ids",
        )
    if (target.count or 1) > len(by_id):
        raise UserError(
            "TooFewTargets",
            f"spec.faults[{fault.name}].target.count",
            f"{target.count} brokers are requested, and {exist}; lower count",
        )
    return [by_id[number] for number in target.ordinals or sorted(by_id)]


def _find(broker: Broker, where: str, pods: Iterable[Json], ports: Ports) -> Json:
    try:
        return find_pod(broker, ports.addresses(broker.host), pods, where)
    except UnresolvedTargetError as error:
        raise KafkaAccessError("BrokerPodNotFound", FIELD, str(error)) from error
    except TransientError as error:
        raise KafkaAccessError(
            "BrokerPodNotFound",
            FIELD,
            f"broker {broker.id} advertises {broker.host}, and {error}",
        ) from error


def _check_usable(selected: BrokerPods, pod: Json, actions: Collection[Action]) -> None:
    """Refuse faults on a pod that does not come back, or not with what it held."""
    if DELETING.intersection(actions):
        _check_deletable(selected, pod)
    unclear = why_not_signalled(pod, selected.container)
    if unclear and SIGNALLING.intersection(actions):
        raise UserError(
            "BrokerPodUnusable", f"{FIELD}.container", f"{unclear}; name the one that runs Kafka"
        )
    problem = why_not_restarted(pod)
    if problem and Action.CRASH_POD in actions:
        raise UserError(
            "BrokerPodUnusable", FIELD, f"{problem}; use pods that restart and keep their data"
        )


def _check_deletable(selected: BrokerPods, pod: Json) -> None:
    problem = why_not_managed(pod, selected.manager)
    if problem:
        raise UserError(
            "BrokerPodUnusable", f"{FIELD}.manager", f"{problem}; name who creates it again"
        )
    problem = why_not_durable(pod)
    if problem:
        raise UserError(
            "BrokerPodUnusable",
            FIELD,
            f"{problem}, and acknowledged records might be lost by that alone; "
            "use a cluster with persistent storage",
        )


def _forbidden(missing: Sequence[str], where: str, account: str) -> str:
    """Which rights are missing, and the Role and RoleBinding that grant them."""
    namespace, _, name = account.removeprefix(ACCOUNT).partition(":")
    known = account.startswith(ACCOUNT)
    subject = f"ServiceAccount {name} in namespace {namespace}" if known else account
    rules = json.dumps(BROKER_POD_RULES, separators=(",", ":")).replace('"', "")
    return (
        f"the controller may not {', '.join(missing)} in namespace {where}; make a Role there with "
        f"the rules {rules}, and a RoleBinding of it to "
        f"{subject or 'the service account of the controller'}: name the namespace in the chart "
        f"(helm upgrade --reset-then-reuse-values --set 'kafkaRef.podNamespaces={{{where}}}'), or "
        "see docs/how-to/existing-kafka.md"
    )
