from __future__ import annotations

import pytest

from krt_contract.members import (
    Member,
    MemberKind,
    broker_of,
    join_addresses,
    kind_of,
    member_name,
    member_of,
)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (MemberKind.KAFKA, "kafka-2"),
        (MemberKind.ZOOKEEPER, "zk-2"),
        (MemberKind.CONTROLLER, "controller-2"),
    ],
)
def test_member_name_begins_with_the_kinds_prefix(kind: MemberKind, name: str) -> None:
    assert member_name(kind, 2) == name
    assert kind_of(name) is kind


def test_kind_of_another_name_is_none() -> None:
    assert kind_of("client-0") is None
    assert kind_of("zk") is None


def test_broker_of_member_inverts_member_of() -> None:
    assert member_of(3) == "kafka-3"
    assert broker_of(member_of(3)) == 3


@pytest.mark.parametrize("member", ["zk-0", "kafka", "kafka-", "kafka-x", "", "producer-kafka-0"])
def test_broker_of_another_member_is_none(member: str) -> None:
    assert broker_of(member) is None


def test_addresses_have_the_port_of_the_kind() -> None:
    members = [
        Member("kafka-0", MemberKind.KAFKA, 0, host="k0"),
        Member("zk-0", MemberKind.ZOOKEEPER, 0, host="z0"),
        Member("controller-0", MemberKind.CONTROLLER, 0, host="c0"),
    ]
    assert join_addresses(members) == "k0:9092,z0:2181,c0:9093"


def test_node_ids_of_brokers_and_controllers_never_meet() -> None:
    ids = [
        Member(member_name(kind, ordinal), kind, ordinal).node_id
        for kind in (MemberKind.KAFKA, MemberKind.CONTROLLER)
        for ordinal in range(9)
    ]
    assert len(set(ids)) == len(ids)
    assert Member("zk-0", MemberKind.ZOOKEEPER, 0).node_id == 1
