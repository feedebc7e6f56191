"""The admin client on a real broker that wants TLS and a password, and gives users few rights."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import ResourceType  # type: ignore[attr-defined]
from tests.contract.traffic import local_secure
from tests.contract.traffic.local_kafka import wait_until
from tests.contract.traffic.local_secure import (
    OTHER,
    PASSWORD,
    POOR,
    POOR_PASSWORD,
    USER,
    SecureKafka,
    login,
)

from krt_contract.entries import Topic
from krt_contract.kafka_security import FIELD
from krt_operator.errors import TransientError, UserError
from krt_operator.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FOO = Topic("krt-foo", 1, 1, {}, {0: (1,)})


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with local_secure.lent(tmp_path_factory.mktemp("secure")) as local:
        local.start()
        local.create_topic("krt-there", 1)
        yield local


@pytest.fixture
def admin(secure: SecureKafka, tmp_path: Path) -> Iterator[KafkaAdmin]:
    known = login(tmp_path, user=USER, password=PASSWORD)
    with KafkaAdmin(secure.address(), known) as client:
        yield client


@pytest.fixture
def poor(secure: SecureKafka, tmp_path: Path) -> Iterator[KafkaAdmin]:
    known = login(tmp_path, user=POOR, password=POOR_PASSWORD)
    with KafkaAdmin(secure.address(), known) as client:
        yield client


def test_admin_with_the_rights_that_the_guide_names_does_all_that_a_run_needs(
    admin: KafkaAdmin,
) -> None:
    assert admin.racks() == {1: ""}
    assert admin.changed_broker_config(1)["process.roles"] == "broker,controller"
    admin.create_topics([FOO])
    wait_until("the topic is there", lambda: admin.view().partition("krt-foo", 0))
    assert admin.topic_configs(["krt-foo"])["krt-foo"]["min.insync.replicas"] == "1"
    assert admin.bounds(["krt-foo"])[0].high_watermark == 0
    assert admin.missing_rights(["krt-foo"], [], []) == []
    # Its coordinator is there once Kafka has created its internal topic.
    wait_until("the group is described", lambda: described(admin))
    assert admin.missing_rights([], [], ["krt-group"]) == []
    admin.delete_groups(["krt-group"])
    admin.delete_topics(["krt-foo"])


def described(admin: KafkaAdmin) -> bool:
    with suppress(TransientError):
        return admin.group("krt-group").committed == {}
    return False


REQUESTS: dict[str, tuple[Callable[[KafkaAdmin], Any], str]] = {
    "settings": (lambda admin: admin.changed_broker_config(1), "DescribeConfigs on Cluster"),
    "topic settings": (
        lambda admin: admin.topic_configs(["krt-there"]),
        "DescribeConfigs on Topic krt-there",
    ),
    "create": (lambda admin: admin.create_topics([FOO]), "Create on Topic krt-foo"),
    "delete": (lambda admin: admin.delete_topics(["krt-there"]), "Delete on Topic krt-there"),
    "group": (lambda admin: admin.group("krt-group"), "Describe on Group krt-group"),
    "delete group": (lambda admin: admin.delete_groups(["krt-g"]), "Delete on Group krt-g"),
}


@pytest.mark.parametrize("request_", REQUESTS)
def test_admin_without_a_right_names_operation_and_resource(
    secure: SecureKafka, poor: KafkaAdmin, request_: str
) -> None:
    # What is not described does not exist, as far as Kafka says.
    secure.grant(POOR, {ResourceType.TOPIC: {"krt-there": ("DESCRIBE",)}})
    call, need = REQUESTS[request_]
    with pytest.raises(UserError) as caught:
        call(poor)
    assert caught.value.reason == "KafkaNotAuthorized"
    assert f"this needs the ACL {need}" in caught.value.message


def test_missing_rights_of_a_user_that_may_only_describe_are_the_others(
    secure: SecureKafka, poor: KafkaAdmin
) -> None:
    rights = {ResourceType.TOPIC: {"krt-there": ("DESCRIBE",)}}
    secure.grant(POOR, rights | {ResourceType.GROUP: {"krt-group": ("DESCRIBE",)}})
    wait_until("the group is described", lambda: described(poor))
    assert poor.missing_rights(["krt-there"], [], ["krt-group"]) == [
        "the ACL Describe on Topic __consumer_offsets",
        "the ACL Describe on Topic __transaction_state",
        *(
            f"the ACL {operation} on Topic krt-there"
            for operation in ("DescribeConfigs", "Read", "Write", "Delete")
        ),
        "the ACL Read on Group krt-group",
        "the ACL Delete on Group krt-group",
    ]
    # An adopted topic is not deleted.
    assert poor.missing_rights([], ["krt-there"], [])[2:] == [
        f"the ACL {operation} on Topic krt-there"
        for operation in ("DescribeConfigs", "Read", "Write")
    ]


def test_refusal_of_a_wrong_password_names_the_user_and_the_request_says_so_too(
    secure: SecureKafka, tmp_path: Path
) -> None:
    wrong = login(tmp_path, user=USER, password=POOR_PASSWORD)
    with KafkaAdmin(secure.address(), wrong) as admin:
        with pytest.raises(TransientError, match="Authentication failed"):
            admin.view()
        refusal = admin.refusal()
    assert refusal is not None
    assert refusal.field == f"{FIELD}.sasl.secretRef"
    assert f"as user {USER}" in refusal.message
    assert POOR_PASSWORD not in refusal.message


def test_refusal_of_a_ca_that_has_not_signed_names_its_secret(
    secure: SecureKafka, tmp_path: Path
) -> None:
    wrong = login(tmp_path, ca=OTHER, user=USER, password=PASSWORD)
    with KafkaAdmin(secure.address(), wrong) as admin:
        with pytest.raises(TransientError):
            admin.view()
        refusal = admin.refusal()
    assert refusal is not None
    assert "not signed by the CAs of Secret ca" in refusal.message
