from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from tests.unit.traffic.plans import load_plan

from krt_contract.kafka_login import PLAINTEXT, Login
from krt_contract.kafka_security import Mechanism, SecretFile, Security
from krt_contract.members import Member, MemberKind
from krt_contract.metadata import Metadata, MetadataMode
from krt_contract.sinks.folder import FolderSink
from krt_traffic.recorder.cluster_history import cluster_history
from krt_traffic.recorder.failures import Failures
from krt_traffic.recorder.metadata_log import history
from krt_traffic.recorder.metadata_log.history import MetadataLogHistory
from krt_traffic.recorder.polling.history import PollingHistory
from krt_traffic.recorder.timeline import Timeline
from krt_traffic.recorder.zookeeper_history import ZooKeeperHistory

if TYPE_CHECKING:
    from pathlib import Path

    from krt_contract.plan import Plan
    from krt_traffic.recorder.cluster_history import ClusterHistory


def chosen(plan: Plan, folder: Path, login: Login = PLAINTEXT) -> ClusterHistory:
    timeline = Timeline(folder / "timeline", "r1")
    return cluster_history(
        plan,
        FolderSink(folder),
        "r1",
        timeline,
        Failures(threading.Event().set),
        version=lambda _version: None,
        features=lambda _levels: None,
        login=login,
        secrets=folder / "secrets",
    )


def kraft(plan: Plan) -> Plan:
    controllers = tuple(
        Member(f"controller-{n}", MemberKind.CONTROLLER, n, host=f"controller-{n}.t")
        for n in range(3)
    )
    members = (*plan.brokers, *controllers)
    return replace(plan, members=members, metadata=Metadata(MetadataMode.KRAFT, "cluster"))


def test_cluster_history_of_zookeeper_watches_its_nodes(tmp_path: Path) -> None:
    assert isinstance(chosen(load_plan(tmp_path), tmp_path), ZooKeeperHistory)


def test_cluster_history_of_kraft_follows_the_controllers_by_their_node_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = mock.Mock()
    monkeypatch.setattr(history, "Follower", follower)
    assert isinstance(chosen(kraft(load_plan(tmp_path)), tmp_path), MetadataLogHistory)
    controllers, cluster = follower.call_args.args[:2]
    assert cluster == "cluster"
    assert controllers == {100 + n: f"controller-{n}.t:9093" for n in range(3)}
    assert (tmp_path / "metadata_log" / "recorder-r1.jsonl").is_file()


def test_cluster_history_of_secured_kraft_logs_in_to_brokers_and_shows_controllers_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connector = mock.Mock()
    monkeypatch.setattr(history, "connector", connector)
    security = Security(tls=True, mechanism=Mechanism.SCRAM_SHA_512, username="krt-client")
    login = Login(security, {SecretFile.PASSWORD: "secret"})
    chosen(kraft(load_plan(tmp_path)), tmp_path, login)
    controllers, brokers = (call.args[0] for call in connector.call_args_list)
    assert (controllers.security.protocol, brokers.security.protocol) == ("SSL", "SASL_SSL")
    assert brokers == login


@pytest.mark.parametrize("mode", list(MetadataMode))
def test_cluster_history_of_a_referenced_cluster_is_polled(
    tmp_path: Path, mode: MetadataMode
) -> None:
    plan = replace(load_plan(tmp_path), members=(), metadata=Metadata(mode, referenced=True))
    assert isinstance(chosen(plan, tmp_path), PollingHistory)
