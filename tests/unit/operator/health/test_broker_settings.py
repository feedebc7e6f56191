"""Settings that Kafka ignores without a word: found, named, and put into a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.operator.doubles.world import World

from krt_operator.health.broker_settings import (
    describe_unknown_settings,
    find_unknown_settings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

REPORTED: Mapping[str, str | None] = {
    "num.io.threads": "8",
    "ssl.keystore.type": "JKS",
    "metric.reporters": "",
    "listener.name.peers.ssl.keystore.type": "JKS",
    "ssl.key.password": None,
    "listener.name.peers.ssl.key.password": None,
    "listener.name.peers.plain.sasl.jaas.config": None,
    "num.io.thread": None,
    "listener.name.peers.no.such": None,
    "xssl.key.password": None,
}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("num.io.threads", True),
        ("metric.reporters", True),
        ("listener.name.peers.ssl.keystore.type", True),
        ("ssl.key.password", True),
        ("listener.name.peers.ssl.key.password", True),
        ("listener.name.peers.plain.sasl.jaas.config", True),
        ("num.io.thread", False),
        ("listener.name.peers.no.such", False),
        ("xssl.key.password", False),
        ("not.reported.at.all", False),
    ],
)
def test_find_unknown_settings_by_what_the_broker_reports(name: str, known: bool) -> None:
    assert find_unknown_settings([name], REPORTED) == (() if known else (name,))


def test_describe_unknown_settings_names_each_and_what_may_be_meant() -> None:
    text = describe_unknown_settings(["num.io.thread", "zzz"], REPORTED)
    assert "num.io.thread (is num.io.threads meant?), zzz in spec.kafka.config" in text
    assert text.endswith("correct the name, or leave it out")


def test_provisioning_with_unknown_broker_setting_warns_and_goes_on() -> None:
    world = World(kafka={"config": {"num.io.thread": "4", "num.network.threads": "2"}})
    status = world.run()
    assert status["verdict"] == "Passed"
    condition = world.condition("SettingsRecognized")
    assert (condition["status"], condition["reason"]) == ("False", "UnknownSetting")
    assert "num.io.thread (is num.io.threads meant?)" in condition["message"]
    assert "num.network.threads" not in condition["message"]
    (event,) = [one for one in world.events if one["reason"] == "UnknownSetting"]
    assert event["type"] == "Warning"
    assert event["message"] == condition["message"]


def test_provisioning_with_known_broker_settings_says_so() -> None:
    world = World(kafka={"config": {"num.io.threads": "4"}})
    world.run()
    condition = world.condition("SettingsRecognized")
    assert (condition["status"], condition["reason"]) == ("True", "AllRecognized")
    assert not [one for one in world.events if one["reason"] == "UnknownSetting"]
