"""A node is drained, or lost, under a broker of a test: the run ends, and says what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from kit.nodes import drain, kill_process, without_kubelet
from kit.run import LABEL, Run, small
from kit.wait import wait_until

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.alone]


def _three_brokers(name: str) -> dict[str, Any]:
    """A test of three brokers with a fault on a consumer, half a minute after the warm-up."""
    fault = {
        "name": "consumer-gone",
        "delay": "30s",
        "action": "DeletePod",
        "target": {"role": "Consumer", "count": 1},
        "duration": "0s",
    }
    return small(
        name,
        kafka={"replicas": 3},
        topics=[
            {
                "name": "foo",
                "partitions": 3,
                "replicationFactor": 3,
                "config": {"min.insync.replicas": "2"},
            }
        ],
        faults=[fault],
        timeouts={"recovery": "60s"},
    )


def _members(run: Run) -> list[str]:
    """The objects of members that are left; the pod of the scoring stays, for its log."""
    return [name for name in run.remaining() if "kafka" in name or "zk" in name]


def _broker(kubectl: Kubectl, run: Run) -> dict[str, Any]:
    found: dict[str, Any] = kubectl.get("pod", f"{run.name}-kafka-1-0")
    return found


def test_node_drained_under_a_broker_is_an_inconclusive_run(kubectl: Kubectl) -> None:
    run = Run.apply(kubectl, _three_brokers("drained"))
    run.reach("Injecting")
    before = _broker(kubectl, run)
    node = before["spec"]["nodeName"]
    try:
        drain(kubectl, node, f"{LABEL}={run.uid},app.kubernetes.io/component=kafka")
        wait_until(
            lambda: _broker(kubectl, run)["metadata"]["uid"] != before["metadata"]["uid"],
            60,
            "another pod of the broker",
        )
    finally:
        kubectl("uncordon", node)
    status = run.finish()
    assert (status["phase"], status["verdict"]) == ("Completed", "Inconclusive"), status
    assert "MemberEnded kafka-1: its process ended with exit code 143" in status["summary"]
    assert status["ledger"]["lost"] == 0


def test_node_lost_under_a_broker_is_an_inconclusive_run(kubectl: Kubectl) -> None:
    run = Run.apply(kubectl, _three_brokers("lost"))
    run.reach("Injecting")
    broker = _broker(kubectl, run)
    with without_kubelet(kubectl, broker["spec"]["nodeName"]):
        kill_process(broker)
        status = run.finish()
    assert (status["phase"], status["verdict"]) == ("Completed", "Inconclusive"), status
    (reason,) = status["inconclusiveReasons"]
    assert reason["code"] == "MembersNotRunning"
    assert broker["spec"]["nodeName"] in reason["message"]
    assert run.condition("Recovered")["reason"] == "MembersNotRunning"
    assert status["ledger"]["lost"] == 0
    wait_until(
        lambda: not _members(run),
        120,
        lambda: f"the members collected with the node back; remaining: {_members(run)}",
    )
