"""Settings are data: the files of the members hold what the resource says, and nothing else."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import javaproperties
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.unit.operator.doubles.plans import sample_plan

from krt_operator.api.base import SETTING_NAME
from krt_operator.build import members, shared
from krt_operator.build.properties import properties

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = {
    *("broker.id", "broker.rack", "listeners", "advertised.listeners"),
    *("listener.security.protocol.map", "inter.broker.listener.name", "log.dirs"),
    "zookeeper.connect",
}
"""What the controller writes into server.properties in any case."""

ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NAMES = st.from_regex(SETTING_NAME, fullmatch=True)
VALUES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=60)
CONFIG = st.dictionaries(NAMES.map(lambda name: f"x.{name[:90]}"), VALUES, max_size=8)


def parsed(text: str) -> dict[str, str]:
    """What Java makes of a file: it reads it as ISO 8859-1."""
    found = javaproperties.load(io.BytesIO(text.encode("utf-8")))
    return dict(found)


@settings(deadline=None)
@given(st.dictionaries(ANY, ANY, max_size=6))
def test_properties_any_text_reads_back_equal(settings: dict[str, str]) -> None:
    assert parsed(properties(settings)) == settings


@pytest.mark.parametrize("key", ["a\nlog.retention.ms", " log.retention.ms", "a=b", "#a", "a:b"])
def test_properties_key_that_is_no_name_stays_one_key(key: str) -> None:
    assert parsed(properties({key: "1"})) == {key: "1"}


@settings(deadline=None, max_examples=50)
@given(CONFIG)
def test_member_files_config_of_the_spec_reads_back_equal(config: dict[str, str]) -> None:
    def change(spec: Any) -> None:
        spec["kafka"]["config"] = config
        spec["zookeeper"]["config"] = config

    plan = sample_plan(change)
    for member in plan.members:
        (files,) = [
            obj["data"]
            for obj in members.build_member(plan, member, "IfNotPresent")
            if obj["kind"] == "ConfigMap"
        ]
        if "server.properties" in files:
            found = parsed(files["server.properties"])
            assert found.keys() == {*plan.broker_config, *OWN}
            assert found == {**found, **plan.broker_config}
        else:
            found = parsed(files["zoo.cfg"])
            assert found == {**found, **plan.zookeeper_config}
            own = {"dataDir", "clientPort", "quorumListenOnAllIPs"}
            servers = {name for name in found if name.startswith("server.")}
            assert found.keys() == {*plan.zookeeper_config, *own, *servers}
        assert config.items() <= found.items()


@settings(deadline=None, max_examples=50)
@given(CONFIG)
def test_plan_map_configs_of_topics_and_clients_read_back_equal(config: dict[str, str]) -> None:
    def change(spec: Any) -> None:
        spec["topics"][0]["config"] = config
        for entry in (*spec["traffic"]["producers"], *spec["traffic"]["consumers"]):
            entry["config"] = config

    (text,) = shared.build_plan_map(sample_plan(change))["data"].values()
    document = json.loads(text)
    assert document["topics"][0]["config"] == config
    traffic = document["spec"]["traffic"]
    for entry in (*traffic["producers"], *traffic["consumers"]):
        assert entry["config"] == config


def broker(config: dict[str, str]) -> Callable[[Any], object]:
    return lambda spec: spec["kafka"].update(config=config)


def zookeeper(config: dict[str, str]) -> Callable[[Any], object]:
    return lambda spec: spec["zookeeper"].update(config=config)


def topic(config: dict[str, str]) -> Callable[[Any], object]:
    return lambda spec: spec["topics"][0].update(config=config)


def producer(config: dict[str, str]) -> Callable[[Any], object]:
    return lambda spec: spec["traffic"]["producers"][0].update(config=config)


def consumer(config: dict[str, str]) -> Callable[[Any], object]:
    return lambda spec: spec["traffic"]["consumers"][0].update(config=config)


@pytest.mark.parametrize("place", [broker, zookeeper, topic, producer, consumer])
@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({" log.retention.ms": "1"}, "must be the name of a setting"),
        ({"a\nlog.retention.ms": "1"}, "must be the name of a setting"),
        ({"a": "1\nlog.retention.ms=1"}, "must be one line of text"),
        ({"a": "1\r"}, "must be one line of text"),
        ({"a" * 101: "1"}, "at most 100"),
        ({"": "1"}, "must be the name of a setting"),
    ],
)
def test_spec_config_that_is_no_setting_is_refused(
    place: Callable[[dict[str, str]], Callable[[Any], object]], config: dict[str, str], says: str
) -> None:
    with pytest.raises(ValidationError, match=says):
        sample_plan(place(config))
