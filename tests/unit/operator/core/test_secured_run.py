"""Runs on a secured cluster that the test deploys, on the API server double."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.operator.core.test_kraft_run import fault, kinds
from tests.unit.operator.doubles.world import World

from krt_operator.errors import KafkaAccessError

if TYPE_CHECKING:
    from krt_operator.engine.ports import Ports

TLS: dict[str, Any] = {"tls": {}}
SCRAM: dict[str, Any] = {"tls": {}, "sasl": {"mechanism": "SCRAM-SHA-512"}}
PLAIN: dict[str, Any] = {"tls": {}, "sasl": {"mechanism": "PLAIN"}}


def secured(security: dict[str, Any] = SCRAM, mode: str = "KRaft", **changes: Any) -> World:
    kafka = {"metadata": {"mode": mode}, "security": security}
    return World(kafka=kafka, **changes)


def secret(world: World, part: str) -> dict[str, str]:
    (found,) = (
        obj["stringData"]
        for (kind, name), obj in world.objects.items()
        if kind == "Secret" and f"-kafka-{part}-" in name
    )
    return dict(found)


def files(world: World, member: str) -> dict[str, str]:
    """File to the key of the Secret that it is, where a member's container mounts them."""
    spec = world.objects["StatefulSet", f"t-{member}"]["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount for mount in spec["containers"][0]["volumeMounts"]}
    assert mounts["kafka"]["mountPath"] == "/etc/krt/kafka"
    (volume,) = (one["secret"] for one in spec["volumes"] if one["name"] == "kafka")
    return {item["path"]: item["key"] for item in volume["items"]}


@pytest.mark.parametrize("mode", ["KRaft", "ZooKeeper"])
@pytest.mark.parametrize("security", [TLS, SCRAM, PLAIN])
def test_secured_run_passes_and_its_secrets_are_in_no_other_object(
    security: dict[str, Any], mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    world = secured(security, mode, faults=[fault("CrashPod", "Broker", ordinals=[0])])
    written = world.run_and_write()
    assert world.status["verdict"] == "Passed", world.status
    secrets = {
        text
        for part in ("clients", "members")
        for key, text in secret(world, part).items()
        if key != "ca.crt"
    }
    assert ("password" in secret(world, "members")) is ("sasl" in security)
    texts = [*written, *map(json.dumps, world.events), caplog.text, *map(repr, world.logins)]
    for text in secrets:
        for form in (text, json.dumps(text)[1:-1]):
            assert [one[:200] for one in texts if form in one] == []
    assert len({login.password for login in world.logins}) == 1


def test_secured_run_logs_in_with_what_its_clients_have() -> None:
    world = secured()
    world.run(until="Injecting")
    assert {login.password for login in world.logins} == {secret(world, "clients")["password"]}
    assert {login.security.protocol for login in world.logins} == {"SASL_SSL"}


def test_secured_run_makes_its_secrets_once() -> None:
    world = secured()
    world.run(until="Provisioning")
    before = secret(world, "clients"), secret(world, "members")
    world.run()
    assert (secret(world, "clients"), secret(world, "members")) == before


def test_secured_run_gives_each_member_its_own_certificate_only() -> None:
    world = secured()
    world.run(until="Injecting")
    assert files(world, "kafka-1") == {"ca.crt": "ca.crt", "member.pem": "kafka-1"}
    assert files(world, "controller-2") == {
        "ca.crt": "ca.crt",
        "member.pem": "controller-2",
        "password": "password",
    }


def test_secured_run_in_zookeeper_mode_lets_its_first_broker_write_the_user() -> None:
    world = secured(mode="ZooKeeper")
    world.run(until="Injecting")
    assert files(world, "kafka-0") == {
        "ca.crt": "ca.crt",
        "member.pem": "kafka-0",
        "password": "password",
    }
    assert "password" not in files(world, "kafka-1")
    assert files(world, "zk-0") == {"ca.crt": "ca.crt", "member.pem": "zk-0"}


@pytest.mark.parametrize("mode", ["KRaft", "ZooKeeper"])
def test_secured_run_has_no_address_that_two_brokers_advertise(mode: str) -> None:
    world = secured(mode=mode)
    world.run(until="Injecting")
    advertised = [
        address
        for number in range(3)
        for line in world.objects["ConfigMap", f"t-kafka-{number}"]["data"][
            "server.properties"
        ].splitlines()
        if line.startswith("advertised.listeners=")
        for address in line.partition("=")[2].split(",")
    ]
    assert len(advertised) == 9
    assert len(set(advertised)) == 9


def test_secured_run_in_zookeeper_mode_shows_servers_a_certificate() -> None:
    world = secured(mode="ZooKeeper", faults=[fault("CrashPod", "ZooKeeperLeader")])
    status = world.run()
    assert status["verdict"] == "Passed", status
    assert {login.security.tls for login in world.logins} == {True}


def test_secured_run_by_plain_gives_brokers_the_password_in_a_file() -> None:
    world = secured(PLAIN)
    world.run(until="Injecting")
    assert "password" in files(world, "kafka-1")
    assert "password" not in files(world, "controller-2")
    text = world.objects["ConfigMap", "t-kafka-0"]["data"]["server.properties"]
    assert 'user_krt-client="${krt:/etc/krt/kafka:password}"' in text


def test_secured_run_whose_brokers_report_no_authorizer_ends_before_traffic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = secured()
    monkeypatch.setattr(
        "tests.unit.operator.doubles.kafka.FakeKafka.broker_config",
        lambda *_: {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"},
    )
    assert world.run()["phase"] == "Error"
    condition = world.condition("Provisioned")
    assert condition["reason"] == "SettingNotEffective"
    assert "spec.kafka.security" in condition["message"]
    assert not {name for name in world.names_of("Pod") if "producer" in name}


def test_secured_run_without_the_installations_key_ends_and_builds_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = secured()
    ports = world.ports

    def no_key() -> bytes:
        raise KafkaAccessError("SecretUnreadable", "spec.kafka.security", "no right")

    def keyless(*given: Any) -> Ports:
        found = ports(*given)
        object.__setattr__(found, "installation_key", no_key)
        return found

    monkeypatch.setattr(world, "ports", keyless)
    assert world.run_on(seconds=60, pause=5)["phase"] == "Error"
    assert world.condition("Provisioned")["reason"] == "SecretUnreadable"
    assert world.names_of("Pod") == set()


def test_secured_run_verifies_a_crash_of_the_active_controller() -> None:
    world = secured(faults=[fault("CrashPod", "Controller")])
    status = world.run()
    assert "ControllerMoved" in kinds(status, "crashpod-controller")
