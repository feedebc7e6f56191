"""The cluster that `hack/up` builds: what tests on it rely on."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import pytest
from kit.connections import idle_pod, reached
from kit.existing_kafka import kafka_image

if TYPE_CHECKING:
    from kit.controller import Controller
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e

API_SERVER = "kubernetes.default.svc:443"


def test_connection_to_the_address_of_no_service_does_not_leave_the_cluster(
    kubectl: Kubectl, controller: Controller
) -> None:
    """Else whoever answers outside is taken for a Service whose endpoints change just then."""
    service_range = kubectl.get("servicecidrs", "kubernetes")["spec"]["cidrs"][0]
    taken = {one["spec"].get("clusterIP") for one in kubectl.items("services", "--all-namespaces")}
    free = next(
        address
        for address in map(str, ipaddress.ip_network(service_range).hosts())
        if address not in taken
    )
    # A namespace of this age may not have one yet, and takes no pod before.
    kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=30s")
    kubectl.apply(idle_pod("client", {"app": "client"}, kafka_image(controller.kubectl)))
    kubectl("wait", "--for=condition=Ready", "pod/client", "--timeout=120s", timeout=130)
    assert reached(kubectl, "client", [f"{free}:9093", API_SERVER]) == {API_SERVER}
