"""A member that cannot start: reported within 30 s, given up when it never will."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from krt_operator.health.member_startup import find_setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.operator.doubles.world import World

    from krt_operator.engine.views import Json

CONFIG = {"num.io.threads": "many"}
ERROR = (
    "org.apache.kafka.common.config.ConfigException: Invalid value many for configuration "
    "num.io.threads: Not a number of type INT"
)


def reported(error: str, code: int = 1) -> Callable[[int], Json]:
    """What `member.sh` writes when java fails the same way each time."""

    def end(number: int) -> Json:
        message = json.dumps({"krt": "member", "failures": number, "error": error})
        return {"exitCode": code, "reason": "Error", "message": message}

    return end


def run_until_member_exists(world: World) -> tuple[Any, datetime]:
    engine = world.controller()
    while ("Pod", "t-kafka-1-0") not in world.objects:
        world.tick(engine.run_once("t") or 0.01)
    return engine, world.time


def test_provisioning_with_broker_that_cannot_start_names_error_setting_and_remedy_in_30_s(
    make_world: Callable[..., World],
) -> None:
    world = make_world(kafka={"config": CONFIG})
    world.failing = {"t-kafka-1-0": reported(ERROR)}
    engine, start = run_until_member_exists(world)
    world.run(seconds=3, controller=engine)
    condition = world.condition("Provisioned")
    assert (condition["status"], condition["reason"]) == ("Unknown", "MemberFailing")
    assert condition["message"].startswith(
        "kafka-1 failed to start: ConfigException: Invalid value many for configuration "
        "num.io.threads: Not a number of type INT; correct spec.kafka.config[num.io.threads], "
        "which is 'many'"
    )
    (event,) = [one for one in world.events if one["reason"] == "MemberFailing"]
    assert (event["type"], "num.io.threads" in event["message"]) == ("Warning", True)
    status = world.run(controller=engine)
    assert (status["phase"], status["verdict"]) == ("Error", "Inconclusive")
    condition = world.condition("Provisioned")
    assert (condition["status"], condition["reason"]) == ("False", "MemberCannotStart")
    assert condition["message"].startswith("spec.kafka.config[num.io.threads]: kafka-1 failed")
    assert "3 times" in condition["message"]
    assert "back-off" not in status["summary"]
    assert "free resources" not in status["summary"]
    ended = next(one for one in status["phases"] if one["name"] == "CleaningUp")["startTime"]
    assert datetime.fromisoformat(ended) - start < timedelta(seconds=30)


@pytest.mark.parametrize(
    ("brokers", "controllers", "field"),
    [
        ({"auto.leader.rebalance.enable": "perhaps"}, {}, "spec.kafka.config"),
        (
            {},
            {"auto.leader.rebalance.enable": "perhaps"},
            "spec.kafka.metadata.controllers.config",
        ),
    ],
)
def test_provisioning_with_controller_that_cannot_start_names_the_config_of_the_setting(
    make_world: Callable[..., World],
    brokers: dict[str, str],
    controllers: dict[str, str],
    field: str,
) -> None:
    metadata = {"mode": "KRaft", "controllers": {"config": controllers}}
    world = make_world(kafka={"config": brokers, "metadata": metadata})
    error = "Invalid value perhaps for configuration auto.leader.rebalance.enable"
    world.failing = {"t-controller-1-0": reported(f"a.ConfigException: {error}")}
    assert world.run()["phase"] == "Error"
    message = world.condition("Provisioned")["message"]
    assert message.startswith(f"{field}[auto.leader.rebalance.enable]: controller-1 failed")


def test_provisioning_with_zookeeper_that_cannot_start_names_the_setting_by_its_value(
    make_world: Callable[..., World],
) -> None:
    world = make_world(zookeeper={"config": {"initLimit": "ten"}})
    error = 'java.lang.NumberFormatException: For input string: "ten"'
    world.failing = {f"t-zk-{number}-0": reported(error, 2) for number in range(3)}
    status = world.run()
    assert status["phase"] == "Error"
    message = world.condition("Provisioned")["message"]
    assert message.startswith("spec.zookeeper.config[initLimit]: zk-0 failed to start")
    assert "so did zk-1, zk-2" in message


def test_provisioning_with_different_errors_goes_on(world: World) -> None:
    def end(number: int) -> Json:
        message = json.dumps({"krt": "member", "failures": 1, "error": f"a.B: attempt {number}"})
        return {"exitCode": 1, "message": message}

    world.failing = {"t-kafka-1-0": end}
    engine, _ = run_until_member_exists(world)
    world.run(seconds=120, controller=engine)
    assert world.status["phase"] == "Provisioning"
    assert "B: attempt" in world.condition("Provisioned")["message"]
    world.failing = {}
    world.objects["Pod", "t-kafka-1-0"]["status"] = {"phase": "Pending"}
    assert world.run(controller=engine)["verdict"] == "Passed"


def test_provisioning_with_member_out_of_memory_names_the_limit(world: World) -> None:
    world.failing = {"t-kafka-1-0": lambda _: {"exitCode": 137, "reason": "OOMKilled"}}
    world.run()
    condition = world.condition("Provisioned")
    assert condition["reason"] == "MemberCannotStart"
    assert "spec.kafka.resources.limits.memory" in condition["message"]


def test_provisioning_with_log_as_message_shows_its_last_line(world: World) -> None:
    log = (
        'Error: Could not find or load main class kafka.Kafka\n{"krt":"member","event":"exited"}\n'
    )
    world.failing = {"t-kafka-1-0": lambda _: {"exitCode": 1, "message": log}}
    world.run()
    condition = world.condition("Provisioned")
    assert condition["reason"] == "MemberCannotStart"
    assert "Could not find or load main class kafka.Kafka" in condition["message"]
    assert "spec.kafka.image" in condition["message"]


def test_provisioning_with_recorder_that_fails_shows_its_end(world: World) -> None:
    world.failing = {"t-recorder": lambda _: {"exitCode": 2, "message": "no evidence"}}
    world.run(seconds=60)
    assert world.status["phase"] == "Provisioning"
    message = world.condition("Provisioned")["message"]
    assert "t-recorder: CrashLoopBackOff ended with exit code 2: no evidence" in message


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("Invalid value many for configuration num.io.threads: Not a number", "num.io.threads"),
        ("Error parsing configuration property 'num.io.threads': begin 0", "num.io.threads"),
        ("num.io.threads.x is wrong", None),
        ("x.num.io.threads is wrong", None),
        ("Check num.io.threads.", "num.io.threads"),
        ('For input string: "many"', "num.io.threads"),
        ("Version `9` is not a valid version", "inter.broker.protocol.version"),
        ("there are many causes", None),
    ],
)
def test_find_setting_by_name_or_quoted_value(error: str, name: str | None) -> None:
    config = {"num.io.threads": "many", "inter.broker.protocol.version": "9"}
    assert find_setting(config, error) == name
