"""The sample in ZooKeeper mode and secured, with a crash of ZooKeeper's leader after a broker's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kit.run import Run
from kit.secured import leaks_of, secrets_of, secured

if TYPE_CHECKING:
    from kit.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.long]


@pytest.fixture(scope="module")
def run(module_kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Run:
    sample = secured("manifests/sample.yaml", "zookeeper-leader-down", "ZooKeeperLeader")
    by_zookeeper = Run.apply(module_kubectl, sample)
    by_zookeeper.finish()
    return by_zookeeper.copied(tmp_path_factory.mktemp("evidence"))


def test_secured_zookeeper_passes_with_every_fault_verified(run: Run) -> None:
    status = run.status
    assert (status["phase"], status["verdict"]) == ("Completed", "Passed"), status
    kinds = run.verified_kinds()
    assert {"ProcessKilled", "LeaderMoved"} <= kinds["leader-down"], kinds
    assert "ProcessKilled" in kinds["zookeeper-leader-down"], kinds


def test_secured_zookeeper_recorder_sees_brokers_partitions_and_the_leader(run: Run) -> None:
    registered = {
        event["subject"] for event in run.timeline("broker") if event["event"] == "registered"
    }
    assert registered == {"0", "1", "2"}
    assert [event for event in run.timeline("partition") if event["event"] == "state"]
    leaders = {
        event["subject"] for event in run.timeline("zookeeper") if event["event"] == "leader"
    }
    assert len(leaders) >= 2, leaders


def test_secured_zookeeper_secrets_are_in_no_evidence(run: Run) -> None:
    assert {"kafka-clients", "kafka-members"} <= set(secrets_of(run))
    assert leaks_of(run) == []


def test_secured_zookeeper_lets_nobody_in_without_a_certificate(run: Run) -> None:
    logs = run.member_logs("kafka")
    assert len(logs) >= 3
    for text in logs:
        assert "CLIENTS:SASL_SSL,PEERS:SSL,PROBE:PLAINTEXT" in text
        assert "kafka.security.authorizer.AclAuthorizer" in text
        assert "stored_key" not in text
    servers = run.member_logs("zk")
    assert len(servers) >= 3
    for text in servers:
        assert "binding to port 0.0.0.0/0.0.0.0:2181" in text
        assert "NettyServerCnxnFactory" in text
        assert "NIOServerCnxnFactory" not in text
