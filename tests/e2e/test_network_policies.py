"""The sample under enforced NetworkPolicies: it passes, and nobody else reaches its pods.

That connections fail by the policies and by nothing else is shown three times: the recorder reaches
the ports of clients, a pod with the labels of a scraper reaches the metrics, and when the policies
are deleted, the pod of somebody else reaches every port of the members that it was refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from kit import network_policies
from kit.connections import idle_pod, reached
from kit.network_policies import SCRAPER
from kit.run import LABEL, Run, manifest
from kit.wait import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.alone]

STRANGER, SCRAPING = "stranger", "scraper"
API_SERVER, STORE = "kubernetes.default.svc:443", "{name}-kafka-0.{namespace}.svc:9092"
MEMBERS = {"kafka": (9092, 9091), "zookeeper": (2181, 3888)}
"""Component → ports at which each of its pods listens. Only ZooKeeper's leader listens at 2888."""

EXPORTERS = ("producer", "consumer", "recorder")
METRICS = 9090


@dataclass(frozen=True)
class Seen:
    """What pods could connect to, as ``host:port``.

    Attributes:
        run: the run, which has ended; its members were kept.
        members: ports of brokers and ZooKeeper servers.
        metrics: ports of traffic and recorder; none of their pods is left at the end.
        stranger, scraper, recorder: what these pods reached during the run.
        member: what a ZooKeeper server reached, of the API server and a broker's client port.
        stranger_without, member_without: the same without policies, at the end.
    """

    run: Run
    members: set[str]
    metrics: set[str]
    stranger: set[str]
    scraper: set[str]
    recorder: set[str]
    member: set[str]
    stranger_without: set[str]
    member_without: set[str]


@pytest.fixture(scope="module")
def _enforced(controller: Controller) -> Iterator[None]:
    with network_policies.enforced(), network_policies.created(controller.kubectl):
        yield


@pytest.fixture(scope="module")
def seen(module_kubectl: Kubectl, _enforced: None) -> Seen:
    sample = manifest("manifests/sample.yaml")
    sample["spec"]["cleanup"] = "Retain"
    # Long enough to try out everything before the first fault.
    sample["spec"]["warmup"] = "60s"
    run = Run.apply(module_kubectl, sample)
    run.reach("Warmup")
    wait_until(lambda: len(_pods(run, *EXPORTERS)) == 5, 60, "all pods of traffic running")
    _start_clients(run)
    members = _addresses(run)
    metrics = {f"{address}:{METRICS}" for address in _pods(run, *EXPORTERS)}
    # When it reaches them, the policies are in force; nobody is refused for being new.
    scraper = _reached_all(module_kubectl, SCRAPING, metrics, members)
    stranger = reached(module_kubectl, STRANGER, members | metrics)
    recorder = reached(module_kubectl, f"{run.name}-recorder", members | metrics)
    server, outside = f"{run.name}-zk-0-0", _outside(run)
    member = reached(module_kubectl, server, outside)
    assert run.status["phase"] == "Warmup", "a fault may have been injected meanwhile"
    run.finish()
    module_kubectl("delete", "networkpolicies", "-l", f"{LABEL}={run.uid}")
    # The pod of the leader is another one by now.
    without = _reached_all(module_kubectl, STRANGER, _addresses(run), set())
    member_without = reached(module_kubectl, server, outside)
    return Seen(
        run=run,
        members=members,
        metrics=metrics,
        stranger=stranger,
        scraper=scraper,
        recorder=recorder,
        member=member,
        stranger_without=without,
        member_without=member_without,
    )


def _reached_all(kubectl: Kubectl, source: str, expected: set[str], others: set[str]) -> set[str]:
    """What a pod reaches of all these, as soon as it reaches everything that it is to reach."""

    def look() -> set[str] | None:
        found = reached(kubectl, source, sorted(expected | others))
        return found if found >= expected else None

    return wait_until(look, 60, f"pod {source} reaching {sorted(expected)}")


def _addresses(run: Run) -> set[str]:
    """The ports at which the members listen."""
    return {
        f"{address}:{port}"
        for component, numbers in MEMBERS.items()
        for address in _pods(run, component)
        for port in numbers
    }


def _pods(run: Run, *components: str) -> set[str]:
    """Addresses of the run's pods of these components that run."""
    selector = f"{LABEL}={run.uid},app.kubernetes.io/component in ({','.join(components)})"
    return {
        pod["status"]["podIP"]
        for pod in run.kubectl.items("pods", "-l", selector)
        if pod["status"].get("phase") == "Running"
    }


def _outside(run: Run) -> tuple[str, str]:
    """What no policy lets a ZooKeeper server connect to, by name: it may ask DNS."""
    return API_SERVER, STORE.format(name=run.name, namespace=run.kubectl.namespace)


def _start_clients(run: Run) -> None:
    """Start the pods that connect, on the node of a broker: packets to it pass no other node.

    That node has the broker's image already.
    """
    broker = run.kubectl.get("pod", f"{run.name}-kafka-0-0")
    node, image = broker["spec"]["nodeName"], broker["spec"]["containers"][0]["image"]
    run.kubectl.apply(
        idle_pod(STRANGER, {"app": STRANGER}, image, node),
        idle_pod(SCRAPING, SCRAPER, image, node),
    )
    run.kubectl(
        *("wait", "--for=condition=Ready", f"pod/{STRANGER}", f"pod/{SCRAPING}"),
        "--timeout=120s",
        timeout=130,
    )


def ports(addresses: set[str]) -> set[int]:
    return {int(address.rpartition(":")[2]) for address in addresses}


def test_sample_under_enforced_policies_passes(seen: Seen) -> None:
    status = seen.run.status
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    [fault] = status["faults"]
    assert fault["verified"], fault


def test_pod_of_somebody_else_reaches_no_port_of_the_run(seen: Seen) -> None:
    assert len(seen.members) == 12, seen.members
    assert len(seen.metrics) == 5, seen.metrics
    assert seen.stranger == set()


def test_scraper_reaches_metrics_and_nothing_else(seen: Seen) -> None:
    assert seen.scraper == seen.metrics


def test_recorder_reaches_the_ports_of_clients_and_no_others(seen: Seen) -> None:
    # And itself, which no policy can prevent.
    clients = {address for address in seen.members if address.endswith((":9092", ":2181"))}
    assert clients <= seen.recorder
    assert seen.recorder - clients <= seen.metrics
    assert len(seen.recorder - clients) == 1


def test_member_reaches_neither_the_api_server_nor_a_port_of_clients(seen: Seen) -> None:
    assert seen.member == set()


def test_without_policies_every_refused_connection_is_made(seen: Seen) -> None:
    assert ports(seen.stranger_without) == {port for each in MEMBERS.values() for port in each}
    assert len(seen.stranger_without) == 12, seen.stranger_without
    assert seen.member_without == set(_outside(seen.run))
