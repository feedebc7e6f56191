"""Who may connect to the pods of a run, and to whom its members may connect.

The table of connections is compared with the policies by a network that enforces them: what is in
the table is allowed, and nothing else.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.unit.operator.doubles.network import Network, Pod
from tests.unit.operator.doubles.plans import sample_plan
from tests.unit.operator.doubles.world import CONTROLLER_LABELS, SETTINGS, WITH_POLICIES

from krt_contract.labels import LABEL_TEST_UID, Component
from krt_operator.app.settings import NetworkPolicies
from krt_operator.build import members, scoring, shared, tools, traffic
from krt_operator.build.network_policies import build_network_policies
from krt_operator.plan.reference import ReferencedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krt_operator.api.plan import Plan
    from krt_operator.engine.views import Json

PULL = "IfNotPresent"
ASKED = WITH_POLICIES.model_copy(
    update={
        "test_network_policies": NetworkPolicies(
            controller=CONTROLLER_LABELS,
            metrics_from=({"namespaceSelector": {"matchLabels": {"team": "monitoring"}}},),
        ),
    }
)
NAMESPACES = {
    name: {"kubernetes.io/metadata.name": name} | labels
    for name, labels in {
        "tests": {},
        "krt-system": {},
        "elsewhere": {},
        "monitoring": {"team": "monitoring"},
        "kube-system": {},
    }.items()
}
OPERATOR = Pod("operator", "krt-system", CONTROLLER_LABELS | {"pod-template-hash": "1"})
PROMETHEUS = Pod("prometheus", "monitoring", {"app": "prometheus"})
DNS = Pod("dns", "kube-system", {"k8s-app": "kube-dns"}, {"dns": 53, "dns-tcp": 53})
STORE = Pod("store", "krt-system", {"app.kubernetes.io/component": "store"}, {"http": 9000})
API_SERVER = Pod("api-server", "kube-system", {}, {"https": 6443})
STRANGERS = (
    Pod("stranger", "tests", {"app": "stranger"}),
    Pod("neighbour", "elsewhere", {"app": "stranger"}),
    Pod("impostor", "tests", CONTROLLER_LABELS),
    Pod("other", "krt-system", {"app.kubernetes.io/instance": "krt"}),
    Pod("collector", "monitoring", {"app": "collector"}),
)
"""The last one may scrape, and nothing else."""

CLIENTS = ("producer", "consumer", "recorder", "driver", "executor", "reassign", "operator")
Connection = tuple[str, str, int]
"""Kind of the pod that connects, kind of the pod that it connects to, port."""

SCRAPING: set[Connection] = {
    (who, target, 9090)
    for who in ("prometheus", "collector")
    for target in ("producer", "consumer", "recorder")
}
SCORING: set[Connection] = {
    ("executor", "driver", 7078),
    ("executor", "driver", 7079),
    ("driver", "executor", 7079),
    ("executor", "executor", 7079),
}
BROKERS: set[Connection] = {
    *((client, "kafka", 9092) for client in CLIENTS),
    ("kafka", "kafka", 9091),
}
ZOOKEEPER: set[Connection] = {
    *((who, "zookeeper", 2181) for who in ("kafka", "recorder", "operator")),
    ("zookeeper", "zookeeper", 2888),
    ("zookeeper", "zookeeper", 3888),
}
KRAFT: set[Connection] = {
    (who, "controller", 9093) for who in ("kafka", "controller", "recorder", "operator")
}
TOLERATED: set[Connection] = {
    # Pods of one component are not told apart: Kafka's tools and the Jobs that dump replicas, the
    # Spark driver and its executors.
    ("dump", "kafka", 9092),
    ("driver", "executor", 7078),
    ("executor", "executor", 7078),
    *(("driver", "driver", port) for port in (7078, 7079)),
}
PORTS = (9090, 9091, 9092, 9093, 9094, 2181, 2888, 3888, 7078, 7079, 4040, 22)
MEMBERS = ("kafka", "zookeeper", "controller")


def _secured(spec: Any) -> None:
    spec["kafka"]["security"] = {"tls": {}, "sasl": {"mechanism": "SCRAM-SHA-512"}}


def _reference() -> Plan:
    racks = {1: "a", 2: "b", 3: "c"}
    reference = ReferencedCluster(racks, {"process.roles": "broker"}, frozenset(), frozenset())
    return sample_plan(None, "sample-kafka-ref.yaml", reference)


PLANS = {
    "zookeeper": (sample_plan(), BROKERS | ZOOKEEPER),
    "zookeeper-secured": (sample_plan(_secured), BROKERS | ZOOKEEPER),
    "kraft": (sample_plan(manifest="sample-kraft.yaml"), BROKERS | KRAFT),
    "kraft-secured": (sample_plan(_secured, "sample-kraft.yaml"), BROKERS | KRAFT),
    "kafka-ref": (_reference(), set[Connection]()),
}


def pods_of(plan: Plan) -> Iterator[tuple[str, Pod]]:
    """Yield every kind of pod that a run has, with its kind; of executors two."""
    for obj in members.build_members(plan, PULL):
        if obj["kind"] == "StatefulSet":
            labels = obj["spec"]["template"]["metadata"]["labels"]
            yield labels["app.kubernetes.io/component"], _pod(obj)
    for each in traffic.traffic_pods(plan):
        yield str(each.role), _pod(traffic.build_traffic_pod(plan, each, PULL))
    yield "recorder", _pod(traffic.build_recorder_pod(plan, PULL))
    for preflight in shared.build_preflight_pods(plan, PULL):
        yield "preflight", _pod(preflight)
    yield "driver", _pod(scoring.build_scoring_job(plan, 1, PULL))
    template = yaml.safe_load(shared.build_executor_template(plan, PULL))
    for number in (1, 2):
        template["metadata"]["name"] = f"executor-{number}"
        yield "executor", _pod(template)
    if plan.brokers:
        yield "reassign", _pod(tools.build_reassign_job(plan, "fault", {}, PULL))
        yield "dump", _pod(tools.build_dump_job(plan, plan.brokers[0], PULL))


def _pod(obj: Json) -> Pod:
    pod = obj["spec"].get("template", obj)
    listening = {
        port["name"]: port["containerPort"]
        for container in pod["spec"]["containers"]
        for port in container.get("ports", ())
    }
    return Pod(obj["metadata"]["name"], "tests", pod["metadata"]["labels"], listening)


def network_of(plan: Plan) -> Network:
    return Network(build_network_policies(plan, ASKED), NAMESPACES)


def outsiders(plan: Plan) -> Iterator[tuple[str, Pod]]:
    """Yield pods that are not of the run, among them those of another test of the same name."""
    yield "operator", OPERATOR
    yield "prometheus", PROMETHEUS
    for pod in STRANGERS:
        yield pod.name, pod
    for kind, pod in pods_of(plan):
        labels = {**pod.labels, LABEL_TEST_UID: "another"}
        yield f"{kind} of another test", Pod(pod.name, "tests", labels)


@pytest.mark.parametrize(("plan", "expected"), PLANS.values(), ids=PLANS)
def test_connections_of_the_table_are_allowed_and_no_others(
    plan: Plan, expected: set[Connection]
) -> None:
    network = network_of(plan)
    pods = list(pods_of(plan))
    found = {
        (source_kind, target_kind, port)
        for (source_kind, source), (target_kind, target) in itertools.product(
            [*pods, *outsiders(plan)], pods
        )
        for port in PORTS
        if source is not target and network.allows(source, target, port)
    }
    wanted = expected | SCRAPING | SCORING
    if ("zookeeper", "zookeeper", 2888) in wanted:
        assert sum(kind == "zookeeper" for kind, _ in pods) > 1
    assert wanted <= found
    assert found - wanted <= TOLERATED


@pytest.mark.parametrize(("plan", "expected"), PLANS.values(), ids=PLANS)
def test_table_has_every_port_at_which_a_pod_listens(plan: Plan, expected: set[Connection]) -> None:
    listening = {(kind, port) for kind, pod in pods_of(plan) for port in pod.ports.values()}
    # Executors are pods of Spark, which adds their ports.
    executors = {("executor", 7079)}
    reached = {(target, port) for _, target, port in expected | SCRAPING | SCORING}
    assert reached == listening | executors


@pytest.mark.parametrize(("plan", "expected"), PLANS.values(), ids=PLANS)
def test_members_connect_to_each_other_and_to_dns_alone(
    plan: Plan, expected: set[Connection]
) -> None:
    del expected
    network = network_of(plan)
    for kind, pod in pods_of(plan):
        free = kind not in MEMBERS
        for protocol in ("UDP", "TCP"):
            assert network.allows(pod, DNS, 53, protocol)
        for target, port in ((STORE, 9000), (API_SERVER, 6443), (STRANGERS[0], 80)):
            assert network.allows(pod, target, port) is free, (kind, target.name)


def test_without_policies_a_foreign_pod_reaches_every_port() -> None:
    plan = sample_plan()
    network = Network(build_network_policies(plan, SETTINGS), NAMESPACES)
    assert all(
        network.allows(STRANGERS[0], pod, port) for _, pod in pods_of(plan) for port in PORTS
    )


def test_metrics_are_for_every_pod_unless_scrapers_are_named() -> None:
    plan = sample_plan()
    network = Network(build_network_policies(plan, WITH_POLICIES), NAMESPACES)
    pods = dict(pods_of(plan))
    assert all(network.allows(each, pods["producer"], 9090) for each in STRANGERS)
    assert not any(network.allows(each, pods["kafka"], 9090) for each in STRANGERS)


def test_members_look_up_names_at_the_ports_of_the_installation() -> None:
    policies = NetworkPolicies(controller=CONTROLLER_LABELS, dns_ports=(53, 5353))
    asked = ASKED.model_copy(update={"test_network_policies": policies})
    plan = sample_plan()
    broker = dict(pods_of(plan))["kafka"]
    assert not network_of(plan).allows(broker, DNS, 5353, "UDP")
    network = Network(build_network_policies(plan, asked), NAMESPACES)
    assert network.allows(broker, DNS, 5353, "UDP")


def test_policies_are_labelled_and_owned_as_the_runs_other_objects() -> None:
    plan = sample_plan()
    policies = build_network_policies(plan, ASKED)
    names = [policy["metadata"]["name"] for policy in policies]
    assert len(set(names)) == len(names)
    for policy in policies:
        meta: Mapping[str, Any] = policy["metadata"]
        assert meta["namespace"] == plan.namespace
        assert [owner["uid"] for owner in meta["ownerReferences"]] == [plan.uid]
        assert meta["labels"][LABEL_TEST_UID] == plan.uid
        assert meta["labels"]["app.kubernetes.io/component"] == Component.NETWORK
