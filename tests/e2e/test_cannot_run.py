"""Runs that the cluster cannot place: phase Error, a condition with the field and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kit.run import Run, small
from kit.wait import wait_until

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = pytest.mark.e2e

ENDED_WITHIN = 300
"""Seconds; other tests may be starting, and a test waits for them."""

UNSHARED_CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "one-node-only"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "standard",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}


def _quota(pods: int) -> dict[str, Any]:
    """A quota of so many pods; those that have ended do not count."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few-pods"},
        "spec": {"hard": {"pods": str(pods)}},
    }


@pytest.mark.long
@pytest.mark.parametrize("pods", [1, 2], ids=["preflight", "members"])
def test_run_whose_pods_are_refused_ends_with_the_words_of_the_api_server(
    kubectl: Kubectl, pods: int
) -> None:
    """One pod: the preflight is refused to the controller. Two: a member is to its StatefulSet."""
    kubectl.apply(_quota(pods))
    run = Run.apply(kubectl, small("over-quota"))
    wait_until(
        lambda: run.condition("Reconciling").get("reason") == "RequestRefused",
        ENDED_WITHIN,
        lambda: f"the refusal reported: {run.status}",
    )
    status = run.finish(ENDED_WITHIN)
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive"), status
    provisioned = run.condition("Provisioned")
    assert provisioned["reason"] == "RequestRefused"
    assert "exceeded quota: few-pods" in provisioned["message"]
    assert "ResourceQuota" in provisioned["message"]
    assert not [name for name in run.remaining() if name.startswith("statefulset")]


@pytest.mark.parametrize(
    ("name", "spec", "named"),
    [
        (
            "too-few-nodes",
            {"kafka": {"replicas": 5}, "zookeeper": {"replicas": 3}},
            ("spec.kafka.replicas", "node"),
        ),
        (
            "no-such-zone",
            {"kafka": {"replicas": 1, "rack": {"zones": ["zone-z"]}}},
            ("spec.kafka.rack.zones", "zone-z"),
        ),
        (
            "no-such-claim",
            {"evidence": {"claimName": "nowhere"}},
            ("spec.evidence.claimName", "nowhere"),
        ),
        (
            "claim-not-shared",
            {"evidence": {"claimName": "one-node-only"}},
            ("spec.evidence.claimName", "ReadWriteMany"),
        ),
        (
            "no-such-image",
            {"kafka": {"replicas": 1, "image": "registry.invalid/none:0"}},
            ("spec.kafka.image", "registry.invalid/none:0"),
        ),
        (
            "broker-cannot-start",
            {"kafka": {"replicas": 1, "config": {"num.io.threads": "many"}}},
            ("spec.kafka.config[num.io.threads]", "Not a number of type INT", "correct"),
        ),
        (
            "client-setting-unknown",
            {
                "traffic": {
                    "producers": [{"name": "p", "topic": "foo", "config": {"no.such": "1"}}],
                    "consumers": [{"name": "c", "topics": ["foo"], "group": "g"}],
                }
            },
            ("spec.traffic.producers[p].config[no.such]", "No such configuration property"),
        ),
    ],
)
def test_run_that_cannot_be_placed_ends_in_error_with_field_and_remedy(
    kubectl: Kubectl, name: str, spec: dict[str, Any], named: tuple[str, ...]
) -> None:
    kubectl.apply(UNSHARED_CLAIM)
    run = Run.apply(kubectl, small(name, **spec))
    status = run.finish(ENDED_WITHIN)
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive"), status
    provisioned = run.condition("Provisioned")
    assert provisioned["status"] == "False"
    for part in named:
        assert part in provisioned["message"], provisioned
    assert "Kafka" not in run.condition("Succeeded").get("reason", "")
    built = [name for name in run.remaining() if name.startswith("statefulset")]
    assert not built
